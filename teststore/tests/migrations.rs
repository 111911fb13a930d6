//! Migrations that a release contains never change, not even in a comment: refinery refuses to
//! open a store whose applied migrations have another checksum. A new version is a new file.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use sha2::{Digest as _, Sha256};

/// Each migration with the SHA-256 of its file.
const MIGRATIONS: [(&str, &str); 32] = [
    (
        "store-sqlite/migrations/V1__core.sql",
        "5aab8587bfa4db5461cbb79c9a940c8105b7a82fe841ab7dd5532f12a18070f6",
    ),
    (
        "store-sqlite/migrations/V2__issues.sql",
        "01912b1170c44a2c5249fc30828d7978b1c7d83c32411467ff8e162ba2a4aa1b",
    ),
    (
        "store-sqlite/migrations/V3__retries_and_live_times.sql",
        "0b2077508459ba72b7b856d3c3e54dc3d71f0f1d985f3b53dcab98794e869b7d",
    ),
    (
        "store-postgres/migrations/V1__core.sql",
        "4bfa82d917c82d6112c7b049077cdec73685fca640cfa7925115c67f7cdc3165",
    ),
    (
        "store-postgres/migrations/V2__issues.sql",
        "27eacd71f2418081bab63a373ee60cd1eda880d7c63349d99cff49669236eaba",
    ),
    (
        "store-postgres/migrations/V3__retries_and_live_times.sql",
        "3bc8e004e89b716198a9880f7de9dbd0a625e9788601d8b0df11015613bd2015",
    ),
    (
        "store-sqlite/migrations/V4__desk.sql",
        "9047889e3103b95a703332ec481bc0560520740ae78bf230be0fabc13285da1d",
    ),
    (
        "store-postgres/migrations/V4__desk.sql",
        "43f76b56f62fcbd4061ad24987be4aa6f306b04810f3cf144c0230f0050918dc",
    ),
    (
        "store-sqlite/migrations/V5__trials.sql",
        "de8ccd73e5a6cecd3cdb5b2ec87ac77d1988a400186d1358a2e29537728524b3",
    ),
    (
        "store-postgres/migrations/V5__trials.sql",
        "c8a0575f44ca8818a3f34a30db13c94c43b74e8b9421dc6b7172b636b5da134a",
    ),
    (
        "store-sqlite/migrations/V6__checksums_and_quotas.sql",
        "867383dc5226d0e2e20ed51ef9324efc75ee07eea65d7cc998658b4d6b1aa97a",
    ),
    (
        "store-postgres/migrations/V6__checksums_and_quotas.sql",
        "2fdb90ef955e540046b92ccf019f2e93c672b5e1521990f8a31e1482e8c01d15",
    ),
    (
        "store-sqlite/migrations/V7__files_of_issues.sql",
        "3f49d1060f4ea07089b454a06f7ec0031001e4b2821428af93c4b8880fe727e1",
    ),
    (
        "store-postgres/migrations/V7__files_of_issues.sql",
        "3f49d1060f4ea07089b454a06f7ec0031001e4b2821428af93c4b8880fe727e1",
    ),
    (
        "store-sqlite/migrations/V8__task_origins.sql",
        "287aa6935b52a1b40de5eb625757b511e7059c2262a2eeae4ca625089d45570f",
    ),
    (
        "store-postgres/migrations/V8__task_origins.sql",
        "6a2a3d28e976b3c4f8fee63451d232d5d81fe8cd568eb699f958faec58e9683e",
    ),
    (
        "store-sqlite/migrations/V9__console.sql",
        "eba26d3c66f2e6de5a8b1eb127f273522d22f3ace33169a3d8625b33847f1eec",
    ),
    (
        "store-postgres/migrations/V9__console.sql",
        "ca36385ef51ac93978b4828e1d81f857bf0cf7523b74dbbf657ca0cb02ada61f",
    ),
    (
        "store-sqlite/migrations/V10__profile_lists.sql",
        "6a55bc99d8b82f20e945a179853b36a31324462711f0a6397855e17ff6973d85",
    ),
    (
        "store-postgres/migrations/V10__profile_lists.sql",
        "44da9943fce33b9ddf740c2ff3108cb31b7e9489a8588245ff1f7efd2b51aac9",
    ),
    (
        "store-sqlite/migrations/V11__issue_upserts.sql",
        "ac0485502f4275ee4d8d2ae685199db5783e555500c9f23b9d3828e1d88cd913",
    ),
    (
        "store-postgres/migrations/V11__issue_upserts.sql",
        "570363512f6bc8ff93dc34204cd3d9430f25ec839a758ae74f83d0ec30013882",
    ),
    (
        "store-sqlite/migrations/V12__text_index.sql",
        "296433343e1fb64bb248738bd7ff021c752b68530536f8d42e8c1c8bb982fce5",
    ),
    (
        "store-postgres/migrations/V12__text_index.sql",
        "5b28df14f797a739a7b06976c361abbb1f899189bf53c40affe60cac6db83123",
    ),
    (
        "store-postgres/migrations/V13__unfinished_tasks.sql",
        "2d39dc3808cd2fa070d33430e8e280467991cfb8a5802a52ef55f8a62e952bfd",
    ),
    (
        "store-postgres/migrations/V14__queue_order.sql",
        "582ed0bd2bc0f4e4d67fbb536631be315fb63bac2a3fc474c23ba6a8ce070805",
    ),
    (
        "store-sqlite/migrations/V15__profile_sets.sql",
        "daac0ada1b1f8af37334547f5db9c31a45ccad30acd37db7b8f7d34d505230cc",
    ),
    (
        "store-postgres/migrations/V15__profile_sets.sql",
        "83f1b4d25f2adbbc5aa4bcd90593ccc8e631338a377402247d3235adb62c928e",
    ),
    (
        "store-sqlite/migrations/V16__issue_spans.sql",
        "49d912ee33d93bca3cbd619f6851abda097e6c5d50d4a14040b2fddcc25b8f23",
    ),
    (
        "store-postgres/migrations/V16__issue_spans.sql",
        "49d912ee33d93bca3cbd619f6851abda097e6c5d50d4a14040b2fddcc25b8f23",
    ),
    (
        "store-sqlite/migrations/V17__set_words.sql",
        "56c643598ce8351d6d7dab89daf5d568d01c82ada631556e2c01e812c847a139",
    ),
    (
        "store-postgres/migrations/V17__set_words.sql",
        "56c643598ce8351d6d7dab89daf5d568d01c82ada631556e2c01e812c847a139",
    ),
];

#[test]
fn a_migration_that_stores_may_contain_does_not_change() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates");
    for (file, expected) in MIGRATIONS {
        let sql = fs::read(crates.join(file)).expect(file);
        let mut found = String::new();
        for byte in Sha256::digest(&sql) {
            write!(found, "{byte:02x}").expect("a string can be written to");
        }
        assert_eq!(found, expected, "{file}: stores that contain this migration no longer open");
    }
    for backend in ["store-sqlite", "store-postgres"] {
        let folder = crates.join(backend).join("migrations");
        for file in fs::read_dir(folder).expect("the folder of the migrations") {
            let name = file.expect("an entry of the folder").file_name();
            let path = format!("{backend}/migrations/{}", name.display());
            let is_listed = MIGRATIONS.iter().any(|(listed, _)| *listed == path);
            assert!(is_listed, "{path} is not in this list: add it with its digest");
        }
    }
}
