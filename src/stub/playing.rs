//! A real service behind the stub: the legacy's calls are sent to it, and the candidate gets what the legacy got.

use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use http::{Request, Response, StatusCode, Uri, header};
use http_body_util::Full;
use tokio::sync::{oneshot, watch};

use super::answer::{Answer, response};
use super::call::{Call, Side};
use super::serving::{Answers, Desk};
use super::waiting::{Coming, Played};
use crate::fetching::{Missed, Within};

impl Desk {
    /// Answers the legacy by the real service, and keeps the answer for the candidate.
    pub(super) async fn pass_on(
        &self,
        call: Call,
        head: http::request::Parts,
        body: Bytes,
    ) -> Response<Full<Bytes>> {
        let Answers::Upstream {
            fetching,
            scheme,
            authority,
            time,
        } = &self.answers
        else {
            return response(&Answer::told(
                StatusCode::INTERNAL_SERVER_ERROR,
                "there is no service behind this port",
            ));
        };
        let (known, coming) = watch::channel(None);
        self.book()
            .enter(Side::Legacy, call, Played::Gives(coming), Instant::now());
        let target = head.uri.path_and_query().cloned();
        let uri = Uri::builder()
            .scheme(scheme.clone())
            .authority(authority.clone());
        let uri = uri
            .path_and_query(target.unwrap_or_else(|| http::uri::PathAndQuery::from_static("/")))
            .build();
        let mut request = Request::new(Full::new(body));
        *request.method_mut() = head.method;
        *request.headers_mut() = head.headers;
        for made_anew in [header::HOST, header::CONTENT_LENGTH, header::EXPECT] {
            request.headers_mut().remove(made_anew);
        }
        parity_mirror::strip_hop_by_hop(request.headers_mut());
        let within = Within {
            bytes: self.largest,
            time: *time,
        };
        let answered = match uri {
            Ok(uri) => {
                *request.uri_mut() = uri;
                fetching.send(request, within).await
            }
            Err(error) => Err(Missed::NoAnswer(error.to_string())),
        };
        let (how, answer) = self.of_upstream(answered);
        let answer = Arc::new(answer);
        // Nobody may ever want it.
        known.send_replace(Some(Arc::clone(&answer)));
        self.book().judge.answered(how);
        response(&answer)
    }

    fn of_upstream(
        &self,
        answered: Result<(http::response::Parts, Bytes), Missed>,
    ) -> (&'static str, Answer) {
        let words = match answered {
            Ok((head, body)) => {
                let mut hold = self.budget.hold();
                if hold.grow(body.len()) {
                    let mut headers = head.headers;
                    headers.remove(header::CONTENT_LENGTH);
                    parity_mirror::strip_hop_by_hop(&mut headers);
                    let body = Bytes::copy_from_slice(&body);
                    return (
                        "upstream",
                        Answer {
                            status: head.status,
                            headers,
                            body,
                            hold,
                        },
                    );
                }
                self.book().judge.lose("bytes");
                "all calls together hold limits.shadow_bytes"
            }
            Err(Missed::NoAnswer(cause)) => {
                tracing::debug!(cause, "the service behind the stub does not answer");
                "the service behind this port does not answer"
            }
            Err(Missed::NotWhole(cause)) => {
                tracing::debug!(
                    cause,
                    "an answer of the service behind the stub is not whole"
                );
                "the answer of the service behind this port broke off, or is over limits.body"
            }
            Err(Missed::TooLate) => "the service behind this port does not answer in time",
        };
        (
            "upstream_failed",
            Answer::told(StatusCode::BAD_GATEWAY, words),
        )
    }

    /// Answers the candidate with what the legacy got for the same call.
    pub(super) async fn play(&self, call: Call) -> Response<Full<Bytes>> {
        let until = tokio::time::Instant::now() + self.answer_wait;
        let key = call.key.clone();
        let (wanting, mut partner) = oneshot::channel();
        let number = self.book().enter(
            Side::Candidate,
            call,
            Played::Wants(wanting),
            Instant::now(),
        );
        let mut coming: Option<Coming> = tokio::time::timeout_at(until, &mut partner)
            .await
            .ok()
            .and_then(Result::ok);
        if coming.is_none()
            && let Some(number) = number
            && self.book().settle_now(&key, number)
        {
            // Another call of the legacy is the nearest there is: the two differ, and the candidate gets an answer all the same.
            coming = partner.try_recv().ok();
        }
        let answer = match coming {
            Some(mut coming) => {
                let known = tokio::time::timeout_at(until, coming.wait_for(Option::is_some)).await;
                known
                    .ok()
                    .and_then(Result::ok)
                    .and_then(|answer| answer.clone())
            }
            None => None,
        };
        self.book().judge.answered(if answer.is_some() {
            "played"
        } else {
            "not_played"
        });
        answer.map_or_else(
            || {
                response(&Answer::told(
                    StatusCode::GATEWAY_TIMEOUT,
                    "no call of the legacy was answered in time for this one",
                ))
            },
            |answer| response(&answer),
        )
    }
}
