//! Lists of profiles, compared with a naive reading: every profile, as the get actions return it,
//! is judged by the model, and the matches are sorted. Totals and bytes of pages must be equal.

use std::sync::Arc;
use std::time::Duration;

use caseload_model::ids::{CoreProfileId, DomainName};
use caseload_model::issue_query::{Paging, SortKey};
use caseload_model::profile_query::{
    AppPart, ProfileId, ProfileKind, ProfileListRequest, ProfilePosition, ProfileQuery,
    ProfileView, SearchableProfile, parse_profile_list,
};
use caseload_model::task::Action;
use caseload_model::time::UnixMillis;
use caseload_store::{AppProfilesOf, Domain, ListProfiles, StepForm, StepProfiles, Store};
use caseload_testdata::SplitMix;
use serde_json::{Map, Value, json};

use super::support::{
    assert_sound, domain, later, profile_id, results, rounds, run_command, task_of,
};

/// Profiles of each kind.
const PROFILES: usize = 160;
/// Queries of each kind.
const QUERIES: usize = 260;

fn pick<'v>(random: &mut SplitMix, values: &[&'v str]) -> &'v str {
    values[random.below(values.len())]
}

/// The fields that both kinds have, from few values, so that most queries find some profiles.
fn fields(random: &mut SplitMix, country: &str, language: &str) -> Map<String, Value> {
    let mut fields = Map::new();
    let countries = ["DE", "Germany", "deu", "FR", "France", "Kosovo"];
    for (name, values) in [
        (country, &countries[..]),
        (language, &["de", "DE", "en"]),
        ("user_vip_segment", &["gold", "silver, old"]),
        ("user_persona", &["builder", "Builder"]),
        ("user_support_status", &["active", "ü\u{0}"]),
    ] {
        if random.below(3) > 0 {
            fields.insert(name.to_owned(), pick(random, values).into());
        }
    }
    if random.below(3) > 0 {
        let plan = [json!("gold"), json!("Silver Plus"), json!(7), json!(7.5)];
        fields.insert("custom_fields".to_owned(), json!({"plan": plan[random.below(4)]}));
    }
    fields
}

pub(super) fn core_entry(random: &mut SplitMix, n: usize) -> String {
    let mut entry = fields(random, "last_country", "preferred_language");
    entry.insert(
        "identities".to_owned(),
        json!([{"email": format!("U{n}@Example.org")}, {"uid": format!("u{n}")}]),
    );
    if random.below(2) > 0 {
        let tags = [json!(["vip"]), json!(["vip", "old"]), json!([])];
        entry.insert("tags".to_owned(), tags[random.below(3)].clone());
    }
    if random.below(2) > 0 {
        let first = pick(random, &["Ada", "ÄDA", "Grace"]);
        entry.insert("names".to_owned(), json!({"first_name": first, "last_name": "Byron"}));
    }
    Value::Object(entry).to_string()
}

/// Runs a task whose time is `after` milliseconds; its results.
async fn run(
    store: &Arc<dyn Store>,
    domain: &Domain,
    action: Action,
    entries: &[String],
    after: i64,
) -> Vec<String> {
    let id = format!("{} {after}", action.as_str());
    let mut command = task_of(domain, &id, action, entries, 23);
    command.now = later(after);
    let task = run_command(store, command, later(after)).await;
    assert_eq!(task.counts.succeeded as usize, entries.len(), "{task:?}");
    results(store, domain.id, &id).await
}

/// A profile as a get action returned it.
pub(super) struct Known {
    line: String,
    id: ProfileId,
    record: Value,
    fields: String,
}

impl Known {
    pub(super) fn of(line: String) -> Self {
        let record: Value = serde_json::from_str(&line).unwrap();
        let id = match record["core-profile-id"].as_str() {
            Some(id) => ProfileId::Core(CoreProfileId(id.parse().unwrap())),
            None => ProfileId::App(record["pid"].as_str().unwrap().to_owned()),
        };
        let mut fields = record.clone();
        let others =
            ["core-profile-id", "pid", "app_id", "name", "emails", "created_at", "updated_at"];
        for other in others {
            fields.as_object_mut().unwrap().remove(other);
        }
        let fields = fields.to_string();
        let fields = fields[1..fields.len() - 1].to_owned();
        Self { line, id, record, fields }
    }

    pub(super) fn at(&self, name: &str) -> UnixMillis {
        UnixMillis(self.record[name].as_i64().unwrap())
    }

    fn position(&self, key: SortKey) -> ProfilePosition {
        let name = if key == SortKey::UpdateTime { "updated_at" } else { "created_at" };
        ProfilePosition { at: self.at(name), id: self.id.clone() }
    }

    fn matches(&self, query: &ProfileQuery, domain: &DomainName) -> bool {
        let emails = self.record["emails"].to_string().into_bytes();
        let app = self.record["app_id"].as_str().map(|app_id| AppPart {
            app_id,
            name: self.record["name"].as_str().unwrap(),
            emails: &emails,
            domain,
        });
        query.matches(&SearchableProfile {
            id: &self.id,
            created_at: self.at("created_at"),
            updated_at: self.at("updated_at"),
            fields: self.fields.as_bytes(),
            app,
        })
    }
}

/// A domain with profiles of both kinds, many of which share their times.
async fn filled(store: &Arc<dyn Store>, name: &str) -> (Domain, [Vec<Known>; 2]) {
    let domain = domain(store, name).await;
    let mut random = SplitMix::new(7);
    let (mut ids, mut pids) = (Vec::new(), Vec::new());
    for batch in 0..4 {
        let numbers = batch * PROFILES / 4..(batch + 1) * PROFILES / 4;
        let entries: Vec<_> = numbers.clone().map(|n| core_entry(&mut random, n)).collect();
        let after = batch as i64 * 1000;
        let made = run(store, &domain, Action::CreateCoreProfiles, &entries, after).await;
        ids.extend(made.iter().map(|line| profile_id(line)));
        let issues: Vec<_> = numbers
            .map(|n| {
                let app = pick(&mut random, &["shop", "mobile"]);
                let name = pick(&mut random, &["Ada", "Grace Hopper"]);
                let email = pick(&mut random, &["", "u3@example.ORG", "u9@example.org"]);
                pids.push(format!("pid-{n}"));
                json!({
                    "created_at": n, "hs_user_id": format!("pid-{n}"), "author_name": name,
                    "author_email": email, "app_id": app,
                })
                .to_string()
            })
            .collect();
        run(store, &domain, Action::ImportIssues, &issues, after + 100).await;
    }
    for (after, part) in [(5000, 3), (6000, 5)] {
        let core = |(_, id): (usize, &String)| {
            let mut patch = fields(&mut random, "last_country", "preferred_language");
            patch.insert("core-profile-id".to_owned(), id.as_str().into());
            Value::Object(patch).to_string()
        };
        let updated = ids.iter().enumerate().filter(|(n, _)| n % part == 1);
        let entries: Vec<_> = updated.map(core).collect();
        run(store, &domain, Action::UpdateCoreProfiles, &entries, after).await;
        let app = |(_, pid): (usize, &String)| {
            let mut patch = fields(&mut random, "country", "language");
            patch.insert("pid".to_owned(), pid.as_str().into());
            Value::Object(patch).to_string()
        };
        let entries: Vec<_> =
            pids.iter().enumerate().filter(|(n, _)| n % part != 1).map(app).collect();
        run(store, &domain, Action::UpdateAppProfiles, &entries, after + 100).await;
    }
    let gets: Vec<_> = ids.iter().map(|id| json!({"core-profile-id": id}).to_string()).collect();
    let core = run(store, &domain, Action::GetCoreProfiles, &gets, 9000).await;
    let gets: Vec<_> = pids.iter().map(|pid| json!({"pid": pid}).to_string()).collect();
    let app = run(store, &domain, Action::GetAppProfiles, &gets, 9000).await;
    (domain, [core, app].map(|lines| lines.into_iter().map(Known::of).collect()))
}

/// Random parameters of a list.
fn parameters(random: &mut SplitMix, kind: ProfileKind, known: &[Known]) -> Vec<(String, String)> {
    let instant = |random: &mut SplitMix| {
        let one = &known[random.below(known.len())];
        let at = if random.below(2) == 0 { one.at("created_at") } else { one.at("updated_at") };
        (at.0 + random.below(3) as i64 - 1).to_string()
    };
    let id = |random: &mut SplitMix| match &known[random.below(known.len())].id {
        ProfileId::Core(id) => id.to_string(),
        ProfileId::App(pid) => pid.clone(),
    };
    let is_core = kind == ProfileKind::Core;
    let mut found = Vec::new();
    for _ in 0..random.below(4) {
        let (name, value) = match random.below(15) {
            0 => ("created-since", instant(random)),
            1 => ("created-until", instant(random)),
            2 => ("updated-since", instant(random)),
            3 => ("updated_until", instant(random)),
            4 => (
                "identity",
                json!([
                    {"email": pick(random, &["u3@EXAMPLE.org", "nobody@x.y"])},
                    format!("uid:u{}", random.below(PROFILES)),
                ])
                .to_string(),
            ),
            5 => (
                if is_core { "ids" } else { "pids" },
                json!([id(random), id(random), "17"]).to_string(),
            ),
            6 if is_core => (
                "tags",
                pick(
                    random,
                    &[
                        r#"{"or":["vip"]}"#,
                        r#"{"nor":["old"]}"#,
                        r#"{"exists":false}"#,
                        r#"{"and":["vip","old"]}"#,
                        "vip",
                    ],
                )
                .to_owned(),
            ),
            6 => ("app-ids", pick(random, &["shop", "shop,mobile", "[]", "none"]).to_owned()),
            7 => ("country", pick(random, &["DE", "fr", "XK", "[\"DEU\",\"France\"]"]).to_owned()),
            8 => ("language", pick(random, &["de", "EN", "de,en", "fr"]).to_owned()),
            9 => ("user-vip-segment", pick(random, &["gold", "silver, old", "none"]).to_owned()),
            10 => {
                ("user_persona", pick(random, &["builder", "[\"builder\",\"Builder\"]"]).to_owned())
            }
            11 => ("user-support-status", pick(random, &["active", "ü\u{0}"]).to_owned()),
            12 | 13 => (
                "custom-fields",
                pick(
                    random,
                    &[
                        r#"{"text":{"and":{"plan":{"is":"gold"}}}}"#,
                        r#"{"text":{"or":{"plan":{"contains":["PLUS"]}}}}"#,
                        r#"{"number":{"and":{"plan":{"is_greater_than":7}}}}"#,
                        r#"{"text":{"and":{"plan":{"is_set":false}}}}"#,
                    ],
                )
                .to_owned(),
            ),
            _ => ("name", pick(random, &["ada", "äd", "BYR", "hopper", "nobody"]).to_owned()),
        };
        found.push((name.to_owned(), value));
    }
    found.push(("sort-by".to_owned(), pick(random, &["creation-time", "update-time"]).to_owned()));
    found.push(("sort-order".to_owned(), pick(random, &["asc", "desc"]).to_owned()));
    found
}

/// Random parameters that are valid together.
pub(super) fn request(
    random: &mut SplitMix,
    kind: ProfileKind,
    known: &[Known],
) -> ProfileListRequest {
    loop {
        // A parameter may be given twice with different values.
        if let Ok(request) = parse_profile_list(kind, &parameters(random, kind, known)) {
            return request;
        }
    }
}

/// The matches in the order of the list.
pub(super) fn expected<'k>(
    query: &ProfileQuery,
    domain: &Domain,
    known: &'k [Known],
) -> Vec<&'k Known> {
    let mut found: Vec<_> = known.iter().filter(|one| one.matches(query, &domain.name)).collect();
    found.sort_by(|a, b| {
        query.sort.compare_positions(&a.position(query.sort.key), &b.position(query.sort.key))
    });
    found
}

pub(super) fn joined(found: &[&Known]) -> String {
    found.iter().map(|one| one.line.as_str()).collect::<Vec<_>>().join(",")
}

pub(crate) fn page_of(domain: &Domain, query: &ProfileQuery, paging: Paging) -> ListProfiles {
    ListProfiles {
        domain: domain.id,
        domain_name: domain.name.clone(),
        query: query.clone(),
        view: ProfileView::default(),
        paging,
        bytes_max: usize::MAX,
        budget: Duration::from_secs(10).into(),
    }
}

pub(crate) async fn random_filters_find_the_same_profiles_as_a_naive_reading(
    store: Arc<dyn Store>,
) {
    let (domain, known) = filled(&store, "acme").await;
    let mut random = SplitMix::new(1);
    let (queries, mut hits) = (rounds(QUERIES), 0);
    for (kind, known) in [ProfileKind::Core, ProfileKind::App].into_iter().zip(&known) {
        for number in 0..queries {
            let query = request(&mut random, kind, known).query;
            let page_size = [1, 3, 10, 1000][random.below(4)];
            let paging = Paging { page: 1 + random.below(3) as u64, page_size };
            let found = store.list_profiles(page_of(&domain, &query, paging)).await.unwrap();
            let all = expected(&query, &domain, known);
            let begin = (paging.offset() as usize).min(all.len());
            let end = (begin + page_size as usize).min(all.len());
            let about = format!("{kind:?}, query {number}: {query:?}");
            assert_eq!(found.total_hits, all.len() as u64, "{about}");
            assert_eq!(String::from_utf8_lossy(&found.body), joined(&all[begin..end]), "{about}");
            assert_eq!(found.count as usize, end - begin, "{about}");
            hits += all.len();
        }
    }
    assert!(hits > 5000 * queries / QUERIES, "too few queries find profiles: {hits}");
    assert_sound(&store).await;
}

/// The identities of a profile as the filter `identity` spells them, folded.
fn spelled(one: &Known) -> Vec<String> {
    let emails = one.record["emails"].as_array().into_iter().flatten();
    let own = emails.map(|email| format!("email:{}", email.as_str().unwrap().to_lowercase()));
    let identities = one.record["identities"].as_array().into_iter().flatten();
    let given = identities.map(|map| {
        let (kind, value) = map.as_object().unwrap().iter().next().unwrap();
        format!("{kind}:{}", value.as_str().unwrap().to_lowercase())
    });
    own.chain(given).collect()
}

pub(crate) async fn profiles_that_share_an_identity_lead_to_each_other(store: Arc<dyn Store>) {
    let (domain, [core, app]) = filled(&store, "acme").await;
    let share = |a: &Known, b: &Known| spelled(a).iter().any(|key| spelled(b).contains(key));
    let whole = Paging { page: 1, page_size: 1000 };
    let lines = |page: Vec<u8>| -> Vec<Value> {
        serde_json::from_slice(&[b"[", &page[..], b"]"].concat()).unwrap()
    };
    let mut request = page_of(&domain, &ProfileQuery::of(ProfileKind::Core), whole);
    request.view = ProfileView::adding(ProfileKind::Core, true);
    let (mut linked, mut shown) = (0, 0);
    for line in lines(store.list_profiles(request).await.unwrap().body) {
        let id = &line["core-profile-id"];
        let one = core.iter().find(|one| &one.record["core-profile-id"] == id).unwrap();
        let of = app.iter().filter(|other| share(one, other));
        let mut pids: Vec<_> = of.map(|one| one.record["pid"].as_str().unwrap()).collect();
        pids.sort_unstable();
        assert_eq!(line["app_profile_pids"], json!(pids), "{id}");
        let found = store.app_profiles_of(AppProfilesOf {
            domain: domain.id,
            domain_name: domain.name.clone(),
            core_profile: CoreProfileId(id.as_str().unwrap().parse().unwrap()),
            budget: Duration::from_secs(10).into(),
        });
        assert_eq!(found.await.unwrap(), pids, "{id}");
        linked += pids.len();
        shown += 1;
    }
    assert!(linked > 20 && shown == PROFILES, "{linked} {shown}");
    let mut request = page_of(&domain, &ProfileQuery::of(ProfileKind::App), whole);
    request.view = ProfileView::adding(ProfileKind::App, true);
    for line in lines(store.list_profiles(request).await.unwrap().body) {
        let one = app.iter().find(|one| one.record["pid"] == line["pid"]).unwrap();
        let ids = core.iter().filter(|other| share(one, other));
        let oldest = ids.map(|one| one.record["core-profile-id"].as_str().unwrap()).min();
        assert_eq!(line["core-profile-id"], json!(oldest), "{}", line["pid"]);
    }
    let deleted: Vec<_> =
        app.iter().take(80).map(|one| json!({"pid": one.record["pid"]}).to_string()).collect();
    run(&store, &domain, Action::DeleteAppProfiles, &deleted, 20_000).await;
    assert_sound(&store).await;
}

pub(crate) async fn all_steps_together_are_the_whole_list_of_profiles(store: Arc<dyn Store>) {
    let (domain, known) = filled(&store, "acme").await;
    let mut random = SplitMix::new(2);
    for (kind, known) in [ProfileKind::Core, ProfileKind::App].into_iter().zip(&known) {
        for number in 0..rounds(60) {
            let query = request(&mut random, kind, known).query;
            let all = expected(&query, &domain, known);
            let mut step = StepProfiles {
                domain: domain.id,
                domain_name: domain.name.clone(),
                query: query.clone(),
                view: ProfileView::default(),
                after: None,
                profiles_max: [1, 7, 40, 1000][random.below(4)],
                bytes_max: [1, 900, usize::MAX][random.below(3)],
                form: StepForm::Lines,
                count: random.below(2) == 0,
                budget: Duration::from_secs(10).into(),
            };
            let mut walked = String::new();
            loop {
                let found = store.step_profiles(step.clone()).await.unwrap();
                let total = step.count.then_some(all.len() as u64);
                assert_eq!(found.total_hits, total, "{kind:?}, query {number}: {query:?}");
                walked.push_str(str::from_utf8(&found.body).unwrap());
                if !found.more {
                    break;
                }
                step.after = Some(found.last.expect("a step with more has a last profile"));
            }
            let lines: String = all.iter().flat_map(|one| [one.line.as_str(), "\n"]).collect();
            assert_eq!(walked, lines, "{kind:?}, query {number}: {query:?}");
        }
    }
}

pub(crate) async fn a_page_of_profiles_ends_before_its_byte_limit(store: Arc<dyn Store>) {
    let (domain, [core, _]) = filled(&store, "acme").await;
    let query = ProfileQuery::of(ProfileKind::Core);
    let all = expected(&query, &domain, &core);
    let mut request = page_of(&domain, &query, Paging::default());
    request.bytes_max = joined(&all[..3]).len();
    let page = store.list_profiles(request).await.unwrap();
    assert_eq!(String::from_utf8_lossy(&page.body), joined(&all[..3]));
    assert!(page.more && page.count == 3 && page.total_hits == all.len() as u64);
    assert_eq!(page.last, Some(all[2].position(SortKey::CreationTime)));
}

pub(crate) async fn profiles_of_other_domains_are_not_listed(store: Arc<dyn Store>) {
    let (_, [core, app]) = filled(&store, "acme").await;
    let other = domain(&store, "other").await;
    for (kind, ids) in [
        (ProfileKind::Core, ("ids", core[0].record["core-profile-id"].to_string())),
        (ProfileKind::App, ("pids", app[0].record["pid"].to_string())),
    ] {
        for pairs in [
            vec![],
            vec![(ids.0.to_owned(), format!("[{}]", ids.1))],
            vec![("identity".to_owned(), "uid:u1".to_owned())],
        ] {
            let query = parse_profile_list(kind, &pairs).unwrap().query;
            let page = page_of(&other, &query, Paging::default());
            let page = store.list_profiles(page).await.unwrap();
            assert_eq!((page.total_hits, page.body), (0, Vec::new()), "{pairs:?}");
        }
    }
}
