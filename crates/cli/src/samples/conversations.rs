//! The conversations of the sample issues: the troubles of end users and the answers of agents, in
//! English and in several of the languages of the sample people. Some have marked-up text or text
//! from right to left, as real ones do.

use super::splitmix::SplitMix;

/// A subject and the messages of its conversation, end user first.
#[derive(Debug)]
pub(crate) struct Conversation {
    language: &'static str,
    pub(crate) title: &'static str,
    pub(crate) tag: &'static str,
    pub(crate) queue: &'static str,
    pub(crate) lines: [&'static str; 4],
}

impl Conversation {
    /// Draws one. Most people write in their own language if there is one in it, others in English.
    pub(crate) fn draw(random: &mut SplitMix, language: &str) -> &'static Self {
        let has_own = CONVERSATIONS.iter().any(|conversation| conversation.language == language);
        let language = if has_own && random.chance(80) { language } else { "en" };
        let fitting: Vec<&Self> =
            CONVERSATIONS.iter().filter(|conversation| conversation.language == language).collect();
        random.pick(&fitting)
    }
}

const CONVERSATIONS: [Conversation; 20] = [
    Conversation {
        language: "en",
        title: "Charged twice for one order",
        tag: "billing",
        queue: "Billing",
        lines: [
            "My card was charged twice for the same order. Please return one of the payments.",
            "Sorry about that! I can see both payments. Is the second one from the same day?",
            "Yes, two minutes later.",
            "I have returned the second payment; it takes three working days to arrive.",
        ],
    },
    Conversation {
        language: "en",
        title: "No e-mail to reset my password",
        tag: "account",
        queue: "Accounts",
        lines: [
            "I asked for a new password four times and nothing arrives, not even in spam.",
            "Which address did you use? I find <b>two accounts</b> in your name.",
            "The one at work &amp; it worked last week.",
            "That address bounced. I have changed it to your private one, please try again.",
        ],
    },
    Conversation {
        language: "en",
        title: "App closes when I open the map",
        tag: "crash",
        queue: "Technical",
        lines: [
            "Since the last update the app closes as soon as I tap on the map.",
            "Thank you for telling us. Does it also happen without a network?",
            "No, offline it works 🤔",
            "We found it: version 4.2.1 is on its way to the stores.",
        ],
    },
    Conversation {
        language: "en",
        title: "Parcel shown as delivered, but it is not here",
        tag: "delivery",
        queue: "Delivery",
        lines: [
            "The tracking says delivered at 9:14. I was at home, nobody came.",
            "I am asking the carrier. Could a neighbour have taken it?",
            "I asked all of them. Nothing.",
            "A new parcel leaves today; keep the first one should it turn up.",
        ],
    },
    Conversation {
        language: "en",
        title: "How do I invite my team?",
        tag: "how-to",
        queue: "Accounts",
        lines: [
            "We are twelve people. Do I have to enter every address by hand?",
            "You can paste a list under Settings → Members, one address per line.",
            "Works, thanks!",
            "Glad to hear it. Have a good start with the team.",
        ],
    },
    Conversation {
        language: "en",
        title: "Lost my progress after changing phones",
        tag: "progress",
        queue: "Technical",
        lines: [
            "I signed in on the new phone and level 73 is gone. I want it back.",
            "Do not worry, it is stored. Which account did you use on the old phone?",
            "The same one, I think. There may be a second one, though.",
            "There is. I have joined the two; please start the app again.",
        ],
    },
    Conversation {
        language: "de",
        title: "Rechnung zeigt die falsche Adresse",
        tag: "billing",
        queue: "Billing",
        lines: [
            "Auf der Rechnung steht noch unsere alte Adresse in Köln. Können Sie das ändern?",
            "Gern. Wie lautet die neue Adresse, und ab welcher Rechnung soll sie gelten?",
            "Lindenstraße 7, 50674 Köln. Ab März, bitte.",
            "Erledigt: Die Rechnung für März liegt mit der neuen Adresse in Ihrem Konto.",
        ],
    },
    Conversation {
        language: "es",
        title: "No puedo cambiar mi número de teléfono",
        tag: "account",
        queue: "Accounts",
        lines: [
            "Cambié de número y la aplicación sigue enviando el código al anterior.",
            "¿Todavía tiene acceso al correo con el que abrió la cuenta?",
            "Sí, al correo sí.",
            "Le hemos enviado un enlace. Con él puede registrar el número nuevo.",
        ],
    },
    Conversation {
        language: "pt",
        title: "O pedido chegou sem uma das peças",
        tag: "delivery",
        queue: "Delivery",
        lines: [
            "Encomendei três copos e na caixa só havia dois.",
            "Lamentamos muito. Pode enviar uma fotografia da embalagem?",
            "Já está em anexo. A caixa estava aberta de um lado.",
            "Obrigado. O terceiro copo segue hoje, sem custos.",
        ],
    },
    Conversation {
        language: "it",
        title: "Il coupon non viene accettato",
        tag: "billing",
        queue: "Billing",
        lines: [
            "Il codice PRIMAVERA scade domani, ma il carrello dice che non è valido.",
            "Grazie della segnalazione. Quali articoli ci sono nel carrello?",
            "Due libri e una lampada.",
            "Il codice non vale per le lampade. Abbiamo applicato lo sconto ai libri.",
        ],
    },
    Conversation {
        language: "pl",
        title: "Nie działa powiadomienie o wiadomościach",
        tag: "how-to",
        queue: "Technical",
        lines: [
            "Od wczoraj nie dostaję powiadomień, choć w ustawieniach są włączone.",
            "Czy telefon był ostatnio aktualizowany?",
            "Tak, w niedzielę.",
            "Po aktualizacji trzeba zezwolić na nie jeszcze raz: Ustawienia → Powiadomienia.",
        ],
    },
    Conversation {
        language: "uk",
        title: "Подвійне замовлення через помилку мережі",
        tag: "billing",
        queue: "Billing",
        lines: [
            "Сторінка зависла, я натиснула ще раз, і тепер у мене два замовлення.",
            "Бачу обидва. Яке з них залишити?",
            "Перше, будь ласка.",
            "Друге скасовано, гроші повернуться за три дні.",
        ],
    },
    Conversation {
        language: "sv",
        title: "Var är mitt paket?",
        tag: "delivery",
        queue: "Delivery",
        lines: [
            "Paketet har legat på terminalen i Göteborg sedan i tisdags.",
            "Jag frågar transportören. Är portkoden fortfarande densamma?",
            "Nej, den är 4471 nu.",
            "Tack! Budet kommer i morgon mellan nio och tolv.",
        ],
    },
    Conversation {
        language: "tr",
        title: "Uygulama açılışta kapanıyor",
        tag: "crash",
        queue: "Technical",
        lines: [
            "Güncellemeden sonra uygulama açılır açılmaz kapanıyor.",
            "Hangi telefonu kullanıyorsunuz?",
            "İki yıllık bir model, yer de var.",
            "Sorunu bulduk: 4.2.1 sürümü yarın mağazada.",
        ],
    },
    Conversation {
        language: "ja",
        title: "機種変更したらデータが消えました",
        tag: "progress",
        queue: "Technical",
        lines: [
            "新しい電話でログインすると、レベル73の記録がありません。",
            "ご安心ください、記録は残っています。以前はどのアカウントでしたか。",
            "たぶん同じですが、二つあるかもしれません。",
            "二つを一つにまとめました。アプリを再起動してください。",
        ],
    },
    Conversation {
        language: "zh",
        title: "收不到验证码",
        tag: "account",
        queue: "Accounts",
        lines: [
            "我试了四次，手机一直收不到验证码。",
            "请问您的号码最近换过运营商吗？",
            "上个月换的。",
            "已经重新登记，请再试一次。",
        ],
    },
    Conversation {
        language: "ko",
        title: "환불은 언제 되나요?",
        tag: "billing",
        queue: "Billing",
        lines: [
            "지난주에 반품했는데 아직 환불이 안 됐어요.",
            "반품 번호를 알려 주시겠어요?",
            "R-20417입니다.",
            "오늘 처리했습니다. 카드사에 따라 3일 정도 걸립니다.",
        ],
    },
    Conversation {
        language: "ar",
        title: "لم تصل رسالة تغيير كلمة المرور",
        tag: "account",
        queue: "Accounts",
        lines: [
            "طلبت كلمة مرور جديدة أربع مرات ولم يصل شيء.",
            "ما العنوان الذي استعملته؟",
            "عنوان العمل، وكان يعمل الأسبوع الماضي.",
            "ذلك العنوان لا يستقبل الرسائل. غيّرناه إلى عنوانك الخاص، جرّب من فضلك.",
        ],
    },
    Conversation {
        language: "he",
        title: "החבילה סומנה כנמסרה אבל לא הגיעה",
        tag: "delivery",
        queue: "Delivery",
        lines: [
            "לפי המעקב החבילה נמסרה ב־9:14. הייתי בבית ואיש לא בא.",
            "אני בודקת עם השליח. אולי שכן קיבל אותה?",
            "שאלתי את כולם. כלום.",
            "חבילה חדשה יוצאת היום.",
        ],
    },
    Conversation {
        language: "vi",
        title: "Làm sao mời cả nhóm cùng dùng?",
        tag: "how-to",
        queue: "Accounts",
        lines: [
            "Nhóm tôi có mười hai người. Tôi phải nhập từng địa chỉ sao?",
            "Bạn có thể dán danh sách ở Cài đặt → Thành viên, mỗi dòng một địa chỉ.",
            "Được rồi, cảm ơn!",
            "Chúc nhóm bạn khởi đầu thuận lợi.",
        ],
    },
];
