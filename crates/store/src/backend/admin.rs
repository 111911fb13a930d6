//! Domains, keys, sessions, queues, apps and agents, for every backend. The rules are in
//! [`crate::admin`]; a backend removes a domain in its own way.

use caseload_model::ids::{DomainId, DomainName};
use caseload_model::issue::write::Desk;
use caseload_model::time::UnixMillis;

use super::Backend;
use crate::{
    Admin, AdminOrigin, Agent, App, CreateAgent, CreateApp, CreateDomain, CreateKey, CreateQueue,
    CreateSession, Domain, DomainLimits, DomainUsage, Key, KeyGrant, RotateKey, SessionKind,
    StoreFuture, admin,
};

impl<B: Backend> Admin for B {
    fn create_domain(&self, command: CreateDomain) -> StoreFuture<'_, Domain> {
        self.write(move |tx| admin::create_domain(tx, &command))
    }

    fn domains(&self) -> StoreFuture<'_, Vec<Domain>> {
        self.read(|tx| admin::domains(tx))
    }

    fn domain(&self, name: &DomainName) -> StoreFuture<'_, Option<Domain>> {
        let name = name.clone();
        self.read(move |tx| admin::domain_by_name(tx, &name))
    }

    fn set_desk(&self, domain: DomainId, desk: Desk, origin: AdminOrigin) -> StoreFuture<'_, ()> {
        let set = move |domain: &mut Domain| domain.desk.clone_from(&desk);
        self.write_in(domain, move |tx| admin::edit_domain(&tx, &origin, &set))
    }

    fn set_limits(
        &self,
        domain: DomainId,
        limits: DomainLimits,
        origin: AdminOrigin,
    ) -> StoreFuture<'_, ()> {
        let set = move |domain: &mut Domain| domain.limits = limits;
        self.write_in(domain, move |tx| admin::edit_domain(&tx, &origin, &set))
    }

    fn set_placeholders(
        &self,
        domain: DomainId,
        list: Option<String>,
        origin: AdminOrigin,
    ) -> StoreFuture<'_, ()> {
        let set = move |domain: &mut Domain| domain.placeholders.clone_from(&list);
        self.write_in(domain, move |tx| admin::edit_domain(&tx, &origin, &set))
    }

    fn usage(&self, domain: DomainId) -> StoreFuture<'_, DomainUsage> {
        self.read_in(domain, |tx| admin::usage(&tx))
    }

    fn delete_domain(&self, domain: DomainId) -> StoreFuture<'_, ()> {
        self.remove_domain(domain)
    }

    fn create_key(&self, command: CreateKey) -> StoreFuture<'_, ()> {
        self.write_in(command.domain, move |tx| admin::create_key(&tx, &command))
    }

    fn keys(&self, domain: DomainId) -> StoreFuture<'_, Vec<Key>> {
        self.read_in(domain, |tx| admin::keys(&tx))
    }

    fn revoke_key(&self, domain: DomainId, id: &str, origin: AdminOrigin) -> StoreFuture<'_, bool> {
        let id = id.to_owned();
        self.write_in(domain, move |tx| admin::revoke_key(&tx, &id, &origin))
    }

    fn rotate_key(&self, command: RotateKey) -> StoreFuture<'_, ()> {
        self.write_in(command.domain, move |tx| admin::rotate_key(&tx, &command))
    }

    fn key_by_hash(&self, hash: [u8; 32]) -> StoreFuture<'_, Option<KeyGrant>> {
        self.find(admin::key_by_hash(hash))
    }

    fn touch_key(&self, domain: DomainId, id: &str, at: UnixMillis) -> StoreFuture<'_, ()> {
        let id = id.to_owned();
        self.write_in(domain, move |tx| admin::touch_key(&tx, &id, at))
    }

    fn create_session(&self, command: CreateSession) -> StoreFuture<'_, ()> {
        self.write_in(command.domain, move |tx| admin::create_session(&tx, &command))
    }

    fn key_by_session(
        &self,
        hash: [u8; 32],
        kind: SessionKind,
    ) -> StoreFuture<'_, Option<KeyGrant>> {
        self.find(admin::key_by_session(hash, kind))
    }

    fn end_session(&self, domain: DomainId, hash: [u8; 32]) -> StoreFuture<'_, bool> {
        self.write_in(domain, move |tx| admin::end_session(&tx, hash))
    }

    fn create_queue(&self, command: CreateQueue) -> StoreFuture<'_, ()> {
        self.write_in(command.domain, move |tx| admin::create_queue(&tx, &command))
    }

    fn create_app(&self, command: CreateApp) -> StoreFuture<'_, App> {
        self.write_in(command.domain, move |tx| admin::create_app(&tx, &command))
    }

    fn apps(&self, domain: DomainId) -> StoreFuture<'_, Vec<App>> {
        self.read_in(domain, |tx| admin::apps(&tx))
    }

    fn create_agent(&self, command: CreateAgent) -> StoreFuture<'_, Agent> {
        self.write_in(command.domain, move |tx| admin::create_agent(&tx, &command))
    }

    fn agents(&self, domain: DomainId) -> StoreFuture<'_, Vec<Agent>> {
        self.read_in(domain, |tx| admin::agents(&tx))
    }
}
