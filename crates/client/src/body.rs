//! A response body as it arrives. The caller pulls it chunk by chunk or line by line, so a list of
//! any length passes through in constant memory. A body that breaks off is an error, never an end.

use bytes::{Bytes, BytesMut};

use crate::error::{ClientError, transport_error};

/// The bytes of a response, one chunk at a time.
#[derive(Debug)]
pub struct Body {
    url: String,
    response: reqwest::Response,
}

impl Body {
    pub(crate) fn new(url: String, response: reqwest::Response) -> Self {
        Self { url, response }
    }

    /// The next bytes; `None` at the end.
    pub async fn chunk(&mut self) -> Result<Option<Bytes>, ClientError> {
        self.response.chunk().await.map_err(|error| transport_error(&self.url, &error))
    }

    /// The body as lines.
    pub fn lines(self) -> Lines {
        Lines { body: self, pending: BytesMut::new(), searched: 0, ended: false }
    }
}

/// The lines of a response, without their newlines.
#[derive(Debug)]
pub struct Lines {
    body: Body,
    pending: BytesMut,
    /// The first bytes of `pending`, which hold no newline.
    searched: usize,
    ended: bool,
}

impl Lines {
    /// The next line; `None` at the end.
    pub async fn next(&mut self) -> Result<Option<Bytes>, ClientError> {
        loop {
            let rest = &self.pending[self.searched..];
            if let Some(at) = rest.iter().position(|byte| *byte == b'\n') {
                let mut line = self.pending.split_to(self.searched + at + 1);
                line.truncate(line.len() - 1);
                self.searched = 0;
                return Ok(Some(line.freeze()));
            }
            if self.ended {
                let last = self.pending.split().freeze();
                self.searched = 0;
                return Ok(if last.is_empty() { None } else { Some(last) });
            }
            self.searched = self.pending.len();
            match self.body.chunk().await? {
                Some(chunk) => self.pending.extend_from_slice(&chunk),
                None => self.ended = true,
            }
        }
    }
}
