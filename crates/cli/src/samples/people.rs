//! The people of the sample data: names in many scripts, each with a city and a language. The
//! countries use all three accepted spellings.

use super::splitmix::SplitMix;

/// An end user who writes to support.
#[derive(Debug)]
pub(crate) struct Person {
    pub(crate) first: &'static str,
    pub(crate) last: &'static str,
    /// The name as part of an e-mail address.
    pub(crate) slug: &'static str,
    pub(crate) country: &'static str,
    pub(crate) city: &'static str,
    pub(crate) language: &'static str,
}

impl Person {
    pub(crate) fn full_name(&self) -> String {
        format!("{} {}", self.first, self.last)
    }

    /// The e-mail address that the one profile of this person with the tag has.
    pub(crate) fn address(&self, tag: &str) -> String {
        format!("{}.{tag}@example.org", self.slug)
    }
}

const fn person(
    [first, last, slug]: [&'static str; 3],
    [country, city, language]: [&'static str; 3],
) -> Person {
    Person { first, last, slug, country, city, language }
}

const PEOPLE: [Person; 24] = [
    person(["Ada", "Lindqvist", "ada.lindqvist"], ["SE", "Göteborg", "sv"]),
    person(["Łukasz", "Wiśniewski", "lukasz.wisniewski"], ["POL", "Kraków", "pl"]),
    person(["Олена", "Коваленко", "olena.kovalenko"], ["UA", "Львів", "uk"]),
    person(["Γιώργος", "Παπαδόπουλος", "giorgos.papadopoulos"], ["Greece", "Θεσσαλονίκη", "el"]),
    person(["美咲", "佐藤", "misaki.sato"], ["JP", "大阪", "ja"]),
    person(["伟", "王", "wei.wang"], ["CHN", "成都", "zh"]),
    person(["민준", "김", "minjun.kim"], ["KR", "부산", "ko"]),
    person(["فاطمة", "الحسن", "fatima.alhasan"], ["Egypt", "القاهرة", "ar"]),
    person(["נועה", "לוי", "noa.levi"], ["IL", "חיפה", "he"]),
    person(["प्रिया", "शर्मा", "priya.sharma"], ["India", "जयपुर", "hi"]),
    person(["สมชาย", "ใจดี", "somchai.jaidee"], ["TH", "เชียงใหม่", "th"]),
    person(["Hoa", "Nguyễn", "hoa.nguyen"], ["VNM", "Đà Nẵng", "vi"]),
    person(["José", "Núñez", "jose.nunez"], ["Mexico", "Mérida", "es"]),
    person(["Zoë", "Müller", "zoe.mueller"], ["DEU", "Köln", "de"]),
    person(["Chiara", "D'Angelo", "chiara.dangelo"], ["it", "Bari", "it"]),
    person(["Siân", "O'Brien", "sian.obrien"], ["Ireland", "Cork", "en"]),
    person(["Þóra", "Jónsdóttir", "thora.jonsdottir"], ["IS", "Akureyri", "is"]),
    person(["გიორგი", "ბერიძე", "giorgi.beridze"], ["GEO", "თბილისი", "ka"]),
    person(["Անի", "Սարգսյան", "ani.sargsyan"], ["AM", "Գյումրի", "hy"]),
    person(["Amara", "Okafor", "amara.okafor"], ["Nigeria", "Enugu", "en"]),
    person(["Thandiwe", "Nkosi", "thandiwe.nkosi"], ["ZAF", "Durban", "zu"]),
    person(["João", "Conceição", "joao.conceicao"], ["Brazil", "São Luís", "pt"]),
    person(["İpek", "Çelik", "ipek.celik"], ["TR", "İzmir", "tr"]),
    person(["மீனா", "செல்வன்", "meena.selvan"], ["IN", "மதுரை", "ta"]),
];

/// All people, each once.
pub(crate) const fn people() -> &'static [Person] {
    &PEOPLE
}

/// Draws a person.
pub(crate) fn draw(random: &mut SplitMix) -> &'static Person {
    &PEOPLE[random.below(PEOPLE.len() as u64) as usize]
}
