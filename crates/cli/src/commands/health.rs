//! `caseload health`: whether a server is up, as an exit status and one line, for the probes of
//! containers and supervisors. It asks `/readyz`: a server whose store cannot be read or written
//! runs, but no caller gets an answer of use.

use caseload_client::ClientError;
use clap::Args;

use super::session::block_on;
use crate::args::TrustArg;
use crate::failure::{Done, Failure};
use crate::printer::Printer;

#[derive(Debug, Args)]
pub(crate) struct HealthArgs {
    /// Address of the server
    #[arg(long, env = "CASELOAD_URL", default_value = "http://127.0.0.1:8080")]
    url: String,
    #[command(flatten)]
    trust: TrustArg,
}

pub(crate) fn run(args: &HealthArgs, printer: &mut Printer) -> Result<Done, Failure> {
    let url = &args.url;
    let pem = args.trust.pem()?;
    let asked = block_on(async { Ok(caseload_client::ready(url, pem.as_deref()).await) })?;
    match asked {
        Ok(()) => printer.line(format_args!("{url} is up"))?,
        Err(error @ (ClientError::InvalidUrl { .. } | ClientError::InvalidAuthorities)) => {
            return Err(error.into());
        }
        // Every other answer means that the server is down. A hint would be a second line.
        Err(error) => return Err(Failure::server(format!("{url} is down: {error}"))),
    }
    Ok(Done::Good)
}
