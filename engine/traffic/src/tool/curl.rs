//! Downloads with curl (tested with 7.88): by FTP from vsftpd (3.0.3), and by HTTP/1.1 and HTTP/2 from nginx
//! (1.22).

use super::download::{self, FILE, MAKE_CERTIFICATE, MOST_CLIENTS, Times};
use super::process::Finished;
use super::text::whole;
use super::{Job, Program, words};
use crate::error::{Context, Error, Result};
use nettrial_scenario::{Flow, FlowRecord, Tool};
use serde::Deserialize;
use std::net::SocketAddr;

/// A download by FTP, in binary mode over a passive connection (EPSV, RFC 2428).
pub const FTP: Curl = Curl { scheme: "ftp", version: None };
/// A download by HTTP/1.1 without encryption.
pub const HTTP1: Curl = Curl { scheme: "http", version: Some("1.1") };
/// A download by HTTP/2 over TLS, with a certificate that is created for the flow.
pub const HTTP2: Curl = Curl { scheme: "https", version: Some("2") };

/// The selected figures (curl's "--write-out").
const FIGURES: &str = concat!(
    r#"{"bytes": %{size_download}, "time_connect": %{time_connect}, "time_appconnect": %{time_appconnect}, "#,
    r#""time_pretransfer": %{time_pretransfer}, "time_starttransfer": %{time_starttransfer}, "#,
    r#""time_total": %{time_total}, "http_version": "%{http_version}"}\n"#
);

/// The program `curl`, and a server for one of its protocols.
pub struct Curl {
    scheme: &'static str,
    /// The version of HTTP in curl's notation; `None` for FTP.
    version: Option<&'static str>,
}

/// The figures that curl prints at the end; times are in seconds since the beginning.
#[derive(Deserialize)]
struct Figures {
    bytes: f64,
    time_connect: f64,
    time_pretransfer: f64,
    time_total: f64,
    http_version: String,
}

impl Curl {
    fn is_encrypted(&self) -> bool {
        self.scheme == "https"
    }

    /// Returns the settings of vsftpd, which serves files as the user who starts it (run_as_launching_user).
    fn vsftpd(at: SocketAddr) -> String {
        let (six, suffix) = if at.is_ipv4() { ("", "") } else { ("_ipv6", "6") };
        let (address, port, next) = (at.ip(), at.port(), at.port() + 1);
        format!(
            "listen{six}=YES\nlisten_address{suffix}={address}\nlisten_port={port}\nbackground=NO\n\
             run_as_launching_user=YES\nanonymous_enable=YES\nno_anon_password=YES\nftp_username=nobody\n\
             anon_root=/run/served\nsecure_chroot_dir=/run/served\nwrite_enable=NO\nxferlog_enable=NO\n\
             isolate=NO\nisolate_network=NO\nseccomp_sandbox=NO\npasv_min_port={next}\npasv_max_port={next}\n\
             max_clients={MOST_CLIENTS}\nmax_per_ip={MOST_CLIENTS}\n"
        )
    }

    /// Returns the settings of nginx, which serves files in one process. If that process is root's, this is the
    /// root of a user namespace that may have no other user.
    fn nginx(&self, at: SocketAddr) -> String {
        let (options, tls) = match self.is_encrypted() {
            true => (
                " ssl http2",
                "ssl_certificate /run/certificate.pem; ssl_certificate_key /run/key.pem; ssl_protocols TLSv1.3;",
            ),
            false => ("", ""),
        };
        let temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"];
        let temporary: String = temporary.map(|of| format!("{of}_temp_path /run/{of}; ")).concat();
        format!(
            "user root root; daemon off; master_process off; pid /run/nginx.pid;\nevents {{ worker_connections 64; }}\n\
             http {{ access_log off; sendfile on; tcp_nopush on; {temporary}\n\
             limit_conn_zone $binary_remote_addr zone=clients:1m; limit_conn clients {MOST_CLIENTS};\n\
             server {{ listen {at}{options}; root /run/served; {tls} }} }}\n"
        )
    }
}

impl Program for Curl {
    fn names(&self, _tool: &Tool) -> Vec<String> {
        words(match (self.version, self.is_encrypted()) {
            (None, _) => &["curl", "vsftpd"],
            (_, false) => &["curl", "nginx"],
            (_, true) => &["curl", "nginx", "openssl"],
        })
    }

    fn remedy(&self) -> &'static str {
        match self.version {
            None => {
                "apt-get install curl vsftpd (Debian starts the server, too: systemctl disable --now vsftpd)"
            }
            _ => {
                "apt-get install curl nginx-light openssl (Debian starts the server, too: systemctl disable --now nginx)"
            }
        }
    }

    fn version(&self) -> &'static [&'static str] {
        &["curl", "-q", "--version"]
    }

    /// The server's sockets send the file, and neither vsftpd nor nginx has an option for their congestion
    /// control.
    fn chooses_congestion_control(&self) -> bool {
        false
    }

    fn shelter_bytes(&self, tool: &Tool) -> Option<u64> {
        Some(download::shelter_bytes(tool))
    }

    fn receiver(&self, _flow: &Flow, tool: &Tool, at: SocketAddr) -> Option<Vec<String>> {
        let write = "printf %s \"$1\" >server.conf && shift && ";
        let certificate = if self.is_encrypted() { MAKE_CERTIFICATE } else { "" };
        Some(match self.version {
            None => download::server(
                tool,
                &format!("{write}exec vsftpd /run/server.conf \"$@\""),
                &[&Self::vsftpd(at)],
            ),
            Some(_) => download::server(
                tool,
                &format!("{write}{certificate}exec nginx -p /run -e stderr -c /run/server.conf \"$@\""),
                &[&self.nginx(at)],
            ),
        })
    }

    fn sender(&self, job: &Job) -> Vec<String> {
        let url = format!("{}://{}/{FILE}", self.scheme, job.destination);
        // Settings and proxies of the machine or its user are not used.
        let mut command = words(&["curl", "-q", "--noproxy", "*", "--globoff", "--silent", "--show-error"]);
        command.extend(words(&["--fail", "--output", "/dev/null", "--write-out", FIGURES]));
        command.extend(words(&["--interface", &job.source.to_string()]));
        match self.version {
            Some("2") => command.extend(words(&["--http2", "--insecure"])),
            Some(_) => command.push("--http1.1".into()),
            None => {}
        }
        command.extend(job.tool.arguments.iter().cloned());
        command.push(url);
        command
    }

    fn record(&self, flow: &Flow, tool: &Tool, finished: &Finished) -> Result<FlowRecord> {
        finished.check()?;
        let last = finished.printed.lines().map(str::trim).rfind(|line| !line.is_empty()).unwrap_or_default();
        let figures: Figures = serde_json::from_str(last)
            .with_context(|| format!("reading the figures in the last line of curl, {last:?}"))?;
        if let Some(version) = self.version {
            let spoken = &figures.http_version;
            if spoken != version {
                return Err(Error::Program(format!(
                    "curl and the server spoke HTTP/{spoken} and not HTTP/{version}"
                )));
            }
        }
        let times = Times {
            // For FTP, curl reports the time at which both connections were established.
            connected: self.version.map(|_| figures.time_connect),
            ready: figures.time_pretransfer,
            done: figures.time_total,
        };
        download::record(flow, tool, whole(figures.bytes), &times)
    }
}
