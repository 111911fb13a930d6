//! Numbered pages: the parameters `page` and `page-size`, their limits and their defaults.

use super::Parameters;
use crate::error_code::ErrorCode;

/// Records on a page by default.
pub const PAGE_SIZE_DEFAULT: u64 = 100;
/// Most records on a page.
pub const PAGE_SIZE_MAX: u64 = 1000;
/// Most that page times page size may be.
pub const PAGE_DEPTH_MAX: u64 = 50_000;

const _: () = assert!(PAGE_SIZE_DEFAULT <= PAGE_SIZE_MAX && PAGE_SIZE_MAX <= PAGE_DEPTH_MAX);

/// A page by number. `page` times `page_size` is at most [`PAGE_DEPTH_MAX`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Paging {
    /// From 1.
    pub page: u64,
    /// 1 to [`PAGE_SIZE_MAX`].
    pub page_size: u64,
}

impl Default for Paging {
    fn default() -> Self {
        Self { page: 1, page_size: PAGE_SIZE_DEFAULT }
    }
}

impl Paging {
    /// How many records come before the page.
    pub const fn offset(&self) -> u64 {
        (self.page - 1) * self.page_size
    }
}

/// The requested page. `records` is the plural of the listed record, and `deeper` says how to read
/// beyond the last page.
pub(crate) fn paging(parameters: &mut Parameters<'_>, records: &str, deeper: &str) -> Paging {
    let page = bounded(parameters, "page", u64::MAX, "pages count from 1");
    let size = page_size(parameters, records);
    let (Some(page), Some(page_size)) = (page.or_default(1), size) else {
        return Paging::default();
    };
    if page.saturating_mul(page_size) > PAGE_DEPTH_MAX {
        let spelled = parameters.get("page").map_or("page", |(spelled, _)| spelled);
        let detail = format!(
            "page {page} with page-size {page_size} goes beyond {PAGE_DEPTH_MAX} {records}, the \
             deepest a numbered page may reach. {deeper}"
        );
        parameters.fault(spelled, ErrorCode::PageTooDeep, detail);
    }
    Paging { page, page_size }
}

/// The requested page size; `None` if it is faulty.
pub(crate) fn page_size(parameters: &mut Parameters<'_>, records: &str) -> Option<u64> {
    let rule =
        format!("a page holds 1 to {PAGE_SIZE_MAX} {records}, {PAGE_SIZE_DEFAULT} by default");
    bounded(parameters, "page-size", PAGE_SIZE_MAX, &rule).or_default(PAGE_SIZE_DEFAULT)
}

/// A parameter that is a number of at least 1.
enum Bounded {
    Absent,
    Faulty,
    Number(u64),
}

impl Bounded {
    fn or_default(self, default: u64) -> Option<u64> {
        match self {
            Self::Absent => Some(default),
            Self::Faulty => None,
            Self::Number(number) => Some(number),
        }
    }
}

fn bounded(parameters: &mut Parameters<'_>, name: &str, max: u64, rule: &str) -> Bounded {
    let Some((spelled, value)) = parameters.get(name) else { return Bounded::Absent };
    match parameters.number(name) {
        None => Bounded::Faulty,
        Some(number) if (1..=max).contains(&number) => Bounded::Number(number),
        Some(_) => {
            let detail = format!("{value} is out of range: {rule}");
            parameters.fault(spelled, ErrorCode::OutOfRange, detail);
            Bounded::Faulty
        }
    }
}
