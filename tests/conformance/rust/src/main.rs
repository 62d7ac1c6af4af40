// Clients of rskafka at secured listeners; tests/conformance/python/cases.py says what they do and print.
// It has no groups and no transactions, and does not log in again.

use chrono::Utc;
use rskafka::BackoffConfig;
use rskafka::client::partition::{Compression, PartitionClient, UnknownTopicHandling};
use rskafka::client::{Client, ClientBuilder, Credentials, OauthBearerCredentials, SaslConfig};
use rskafka::record::Record;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ClientConfig, RootCertStore};
use std::collections::{BTreeMap, HashMap};
use std::error::Error;
use std::sync::Arc;
use std::time::{Duration, Instant};

type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

const PAUSE: Duration = Duration::from_millis(200);
const GIVE_UP: Duration = Duration::from_millis(500);

// What an error says of its cause, and how it is called here; the first that fits counts.
const NAMES: [&str; 10] = [
    "TopicAuthorizationFailed",
    "ClusterAuthorizationFailed",
    "UnsupportedSaslMechanism",
    "SaslAuthenticationFailed",
    "UnknownIssuer",
    "ExpiredContext",
    "NotValidYetContext",
    "NotValidForNameContext",
    "SaslFailed",
    "AlertReceived",
];

struct Case {
    name: String,
    kind: String,
    words: HashMap<String, String>,
}

impl Case {
    fn is_refused(&self) -> bool {
        self.kind == "fails" || self.kind == "denied"
    }
}

#[tokio::main]
async fn main() {
    let running: Vec<_> = std::io::stdin()
        .lines()
        .map(|line| tokio::spawn(execute(parse(&line.expect("UTF-8")))))
        .collect();
    for each in running {
        each.await.expect("no panic");
    }
}

fn parse(line: &str) -> Case {
    let mut parts = line.split(' ').map(str::to_owned);
    Case {
        name: parts.next().expect("a name"),
        kind: parts.next().expect("a kind"),
        words: parts
            .filter_map(|word| word.split_once('=').map(|(key, text)| (key.to_owned(), text.to_owned())))
            .collect(),
    }
}

async fn execute(case: Case) {
    if case.kind == "fails" {
        tell(&case, "error", connect(&case).await.map(|_| ()));
        return;
    }
    if case.kind == "denied" {
        tell(&case, "error", be_denied(&case).await);
        return;
    }
    let client = connect(&case).await.expect("a client");
    let topic = &case.words["topic"];
    let made = client.controller_client().expect("a controller").create_topic(topic, 1, 1, 5_000).await;
    made.expect("a topic");
    let partition = client.partition_client(topic, 0, UnknownTopicHandling::Retry).await.expect("a partition");
    if tell(&case, "produce", send(&partition, "one").await.map(|_| ()))
        && tell(&case, "read", read(&partition, 0, "one").await)
    {
        tell(&case, "renewal", go_on(&case, &partition).await);
    }
}

async fn be_denied(case: &Case) -> Outcome<()> {
    let client = connect(case).await?;
    let topic = &case.words["topic"];
    let action = case.words["action"].as_str();
    if action == "create" {
        return Ok(client.controller_client()?.create_topic(topic, 1, 1, 5_000).await?);
    }
    let partition = client.partition_client(topic, 0, UnknownTopicHandling::Error).await?;
    match action {
        "produce" => send(&partition, "one").await.map(|_| ()),
        "read" => read(&partition, 0, "one").await,
        _ => Ok(()),
    }
}

fn tell(case: &Case, step: &str, outcome: Outcome<()>) -> bool {
    let word = match &outcome {
        Ok(()) => "ok".to_owned(),
        Err(error) => {
            if !case.is_refused() {
                eprintln!("{} {step}: {error:?}", case.name);
            }
            name_of(error.as_ref())
        }
    };
    println!("{} told {} {step} {word}", Utc::now().timestamp_millis(), case.name);
    outcome.is_ok()
}

fn name_of(error: &(dyn Error + Send + Sync)) -> String {
    let text = format!("{error:?}");
    let known = NAMES.iter().find(|name| text.contains(**name));
    known.map_or_else(|| text.split_whitespace().collect::<Vec<_>>().join("_"), |name| (*name).to_owned())
}

async fn connect(case: &Case) -> Outcome<Client> {
    let backoff = BackoffConfig { deadline: Some(GIVE_UP), ..BackoffConfig::default() };
    let mut builder = ClientBuilder::new(vec![case.words["bootstrap"].clone()]);
    if case.is_refused() {
        builder = builder.backoff_config(backoff);
    }
    if let Some(ca) = case.words.get("ca") {
        builder = builder.tls_config(Arc::new(tls(ca, case.words.get("certificate"))?));
    }
    if let Some(mechanism) = case.words.get("mechanism") {
        builder = builder.sasl_config(sasl(mechanism, &case.words));
    }
    Ok(builder.build().await?)
}

fn tls(ca: &str, certificate: Option<&String>) -> Outcome<ClientConfig> {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_file(ca)?)?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_root_certificates(roots);
    let Some(path) = certificate else {
        return Ok(config.with_no_client_auth());
    };
    let chain = CertificateDer::pem_file_iter(path)?.collect::<Result<Vec<_>, _>>()?;
    Ok(config.with_client_auth_cert(chain, PrivateKeyDer::from_pem_file(path)?)?)
}

fn sasl(mechanism: &str, words: &HashMap<String, String>) -> SaslConfig {
    let word = |name: &str| words.get(name).cloned().unwrap_or_default();
    let credentials = Credentials::new(word("user"), word("password"));
    match mechanism {
        "PLAIN" => SaslConfig::Plain(credentials),
        "SCRAM-SHA-256" => SaslConfig::ScramSha256(credentials),
        "SCRAM-SHA-512" => SaslConfig::ScramSha512(credentials),
        _ => {
            let token = word("token");
            SaslConfig::Oauthbearer(OauthBearerCredentials {
                callback: Arc::new(move || {
                    let token = token.clone();
                    Box::pin(async move { Ok(token) })
                }),
                authz_id: None,
                bearer_kvs: vec![],
            })
        }
    }
}

async fn send(partition: &PartitionClient, value: &str) -> Outcome<i64> {
    let record = Record {
        key: None,
        value: Some(value.as_bytes().to_vec()),
        headers: BTreeMap::new(),
        timestamp: Utc::now(),
    };
    Ok(partition.produce(vec![record], Compression::NoCompression).await?[0])
}

async fn read(partition: &PartitionClient, offset: i64, value: &str) -> Outcome<()> {
    let (records, _) = partition.fetch_records(offset, 1..1_000_000, 10_000).await?;
    let found = records.into_iter().next().and_then(|first| first.record.value);
    if found.as_deref() == Some(value.as_bytes()) { Ok(()) } else { Err(format!("{found:?} is not {value}").into()) }
}

async fn go_on(case: &Case, partition: &PartitionClient) -> Outcome<()> {
    let end = Instant::now() + Duration::from_millis(case.words["renewal_ms"].parse()?);
    while Instant::now() < end {
        let offset = send(partition, "more").await?;
        read(partition, offset, "more").await?;
        tokio::time::sleep(PAUSE).await;
    }
    Ok(())
}
