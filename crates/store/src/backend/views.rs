//! Named views, for every backend. The rules are in [`crate::views`].

use caseload_model::ids::DomainId;
use caseload_model::named_view::ViewEdit;

use super::Backend;
use crate::{CreateView, NamedView, OfView, StoreFuture, Views, views as rules};

impl<B: Backend> Views for B {
    fn create_view(&self, command: CreateView) -> StoreFuture<'_, NamedView> {
        self.write_in(command.of.domain, move |tx| rules::create_view(&tx, &command))
    }

    fn views(&self, domain: DomainId, key_id: &str) -> StoreFuture<'_, Vec<NamedView>> {
        let key_id = key_id.to_owned();
        self.read_in(domain, move |tx| rules::views(&tx, &key_id))
    }

    fn view(&self, domain: DomainId, key_id: &str, id: &str) -> StoreFuture<'_, Option<NamedView>> {
        let (key_id, id) = (key_id.to_owned(), id.to_owned());
        self.read_in(domain, move |tx| rules::view(&tx, &key_id, &id))
    }

    fn edit_view(&self, of: OfView, edit: ViewEdit) -> StoreFuture<'_, NamedView> {
        self.write_in(of.domain, move |tx| rules::edit_view(&tx, &of, &edit))
    }

    fn delete_view(&self, of: OfView) -> StoreFuture<'_, ()> {
        self.write_in(of.domain, move |tx| rules::delete_view(&tx, &of))
    }
}
