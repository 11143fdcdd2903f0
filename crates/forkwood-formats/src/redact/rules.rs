//! What secrets look like.

use std::sync::LazyLock;

use regex::Regex;

/// A kind of secret.
#[derive(Clone, Copy, Debug)]
pub struct Rule {
    /// Its stable name.
    pub id: &'static str,
    /// What it finds, for people.
    pub about: &'static str,
    /// One of these stands in every text that the rule finds something in.
    pub(super) words: &'static [&'static str],
    /// What the secret looks like; its group `s`, where there is one, is the secret itself.
    pub(super) pattern: &'static str,
    /// How random a secret is at least, in bits a character. 0: it need not be.
    pub(super) entropy: f64,
}

impl Rule {
    /// What stands in place of the secret.
    pub(super) fn replacement(&self) -> String {
        match self.id {
            HOME => "~".to_owned(),
            id => format!("[redacted:{id}]"),
        }
    }
}

/// The rule of home folders.
pub(super) const HOME: &str = "home-path";
/// The rule of values whose name says that they are secret.
pub(super) const NAMED: &str = "named-secret";

/// The rules. The first one that finds something at a place has it.
const TABLE: &[Rule] = &[
    rule(
        "private-key",
        &["PRIVATE KEY"],
        r"-----BEGIN (?:[A-Z0-9]+ ){0,4}PRIVATE KEY(?: BLOCK)?-----(?s:.*?)(?:-----END (?:[A-Z0-9]+ ){0,4}PRIVATE KEY(?: BLOCK)?-----|\z)",
        0.0,
        "a private key in PEM or OpenPGP form, or as much of it as there is",
    ),
    rule(
        "age-key",
        &["AGE-SECRET-KEY-1"],
        r"AGE-SECRET-KEY-1[0-9A-Z]{50,60}",
        0.0,
        "a secret key of age",
    ),
    rule("anthropic-key", &["sk-ant-"], r"\bsk-ant-[A-Za-z0-9_-]{20,}", 0.0, "a key of Anthropic"),
    rule("openrouter-key", &["sk-or-v1-"], r"\bsk-or-v1-[0-9a-f]{32,}", 0.0, "a key of OpenRouter"),
    rule(
        "openai-key",
        &["sk-"],
        r"\bsk-(?:(?:proj|svcacct|admin|None)-[A-Za-z0-9_-]{20,}|[A-Za-z0-9]{20}T3BlbkFJ[A-Za-z0-9]{20}|[A-Za-z0-9]{40,})",
        0.0,
        "a key of OpenAI, and of those who took over its form",
    ),
    rule(
        "aws-access-key",
        &["AKIA", "ASIA", "ABIA", "ACCA"],
        r"\b(?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16}\b",
        0.0,
        "the id of an access key of AWS",
    ),
    rule(
        "aws-secret-key",
        &["aws", "AWS", "Aws", "SecretAccessKey"],
        r#"(?i)(?:aws[^\r\n]{0,24}?(?:secret|key)|SecretAccessKey)[^\r\n:=]{0,16}[:=]\s{0,4}\\{0,4}["']?(?-i)(?P<s>[A-Za-z0-9/+]{40})(?:[^A-Za-z0-9/+=]|\z)"#,
        3.0,
        "a secret access key of AWS",
    ),
    rule(
        "github-token",
        &["ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"],
        r"\b(?:gh[pousr]_[A-Za-z0-9]{36,255}|github_pat_[A-Za-z0-9]{22}_[A-Za-z0-9]{50,64})",
        0.0,
        "a token of GitHub",
    ),
    rule(
        "gitlab-token",
        &["glpat-", "gldt-", "glrt-", "glcbt-", "glptt-", "glft-", "glsoat-", "glagent-"],
        r"\bgl(?:pat|dt|rt|cbt|ptt|ft|soat|agent)-[A-Za-z0-9_.-]{20,}",
        0.0,
        "a token of GitLab",
    ),
    rule("google-key", &["AIza"], r"\bAIza[A-Za-z0-9_-]{35}", 0.0, "an API key of Google"),
    rule(
        "google-oauth",
        &["ya29.", "GOCSPX-"],
        r"\b(?:ya29\.[A-Za-z0-9_-]{20,}|GOCSPX-[A-Za-z0-9_-]{24,})",
        0.0,
        "an access token or client secret of Google",
    ),
    rule(
        "slack-token",
        &["xox", "xapp-"],
        r"\b(?:xox[abeoprs]-[A-Za-z0-9-]{10,}|xapp-[0-9]-[A-Za-z0-9-]{10,})",
        0.0,
        "a token of Slack",
    ),
    rule(
        "slack-webhook",
        &["hooks.slack.com"],
        r"https://hooks\.slack\.com/(?:services|workflows|triggers)/[A-Za-z0-9/_-]{20,}",
        0.0,
        "the address of a webhook of Slack",
    ),
    rule(
        "stripe-key",
        &["sk_live_", "sk_test_", "rk_live_", "rk_test_", "whsec_"],
        r"\b(?:[sr]k_(?:live|test)_[A-Za-z0-9]{16,}|whsec_[A-Za-z0-9+/=]{24,})",
        0.0,
        "a key of Stripe",
    ),
    rule("npm-token", &["npm_"], r"\bnpm_[A-Za-z0-9]{36}\b", 0.0, "a token of npm"),
    rule("pypi-token", &["pypi-AgE"], r"\bpypi-AgE[A-Za-z0-9_-]{50,}", 0.0, "a token of PyPI"),
    rule("cargo-token", &["cio"], r"\bcio[A-Za-z0-9]{32}\b", 0.0, "a token of crates.io"),
    rule("huggingface-token", &["hf_"], r"\bhf_[A-Za-z0-9]{30,}", 0.0, "a token of Hugging Face"),
    rule("groq-key", &["gsk_"], r"\bgsk_[A-Za-z0-9]{40,}", 0.0, "a key of Groq"),
    rule("xai-key", &["xai-"], r"\bxai-[A-Za-z0-9]{60,}", 0.0, "a key of xAI"),
    rule("perplexity-key", &["pplx-"], r"\bpplx-[A-Za-z0-9]{40,}", 0.0, "a key of Perplexity"),
    rule("replicate-token", &["r8_"], r"\br8_[A-Za-z0-9]{37}\b", 0.0, "a token of Replicate"),
    rule(
        "digitalocean-token",
        &["dop_v1_", "doo_v1_", "dor_v1_"],
        r"\bdo[opr]_v1_[0-9a-f]{64}",
        0.0,
        "a token of DigitalOcean",
    ),
    rule(
        "sendgrid-key",
        &["SG."],
        r"\bSG\.[A-Za-z0-9_-]{22}\.[A-Za-z0-9_-]{43}",
        0.0,
        "a key of SendGrid",
    ),
    rule("twilio-key", &["SK"], r"\bSK[0-9a-f]{32}\b", 0.0, "a key of Twilio"),
    rule(
        "telegram-token",
        &[":AA"],
        r"\b[0-9]{8,10}:AA[A-Za-z0-9_-]{33}",
        0.0,
        "a token of a bot of Telegram",
    ),
    rule(
        "discord-token",
        &["M", "N", "O"],
        r"\b[MNO][A-Za-z0-9_-]{23,25}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,38}\b",
        0.0,
        "a token of a bot of Discord",
    ),
    rule("vault-token", &["hvs."], r"\bhvs\.[A-Za-z0-9_-]{24,}", 0.0, "a token of HashiCorp Vault"),
    rule(
        "azure-key",
        &["AccountKey=", "SharedAccessKey="],
        r"\b(?:Account|SharedAccess)Key=(?P<s>[A-Za-z0-9+/]{42,86}={1,2})",
        0.0,
        "a key of Azure",
    ),
    rule(
        "jwt",
        &["eyJ"],
        r"\beyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}",
        0.0,
        "a signed token (JWT)",
    ),
    rule(
        "url-password",
        &["://"],
        r#"\b[A-Za-z][A-Za-z0-9+.-]{1,20}://[^\s:/@"'<>]{0,128}:(?P<s>[^\s/@"'<>$\{\}]{3,256})@"#,
        0.0,
        "a password in an address",
    ),
    rule(
        "authorization",
        &["uthorization", "UTHORIZATION", "earer", "EARER"],
        r#"(?i)\b(?:authorization\\{0,4}["']?\s{0,4}[:=]\s{0,4}\\{0,4}["']?(?:bearer|basic|token)|bearer)\s{1,4}(?P<s>[A-Za-z0-9._~+/-]{16,2048}={0,2})"#,
        3.0,
        "what a request authorises itself with",
    ),
    rule(
        NAMED,
        &["ey", "EY", "ecret", "ECRET", "oken", "OKEN", "assw", "ASSW", "redential", "REDENTIAL"],
        r#"(?i)\b[a-z0-9_.-]{0,40}?(?:api[_-]?key|access[_-]?key|private[_-]?key|secret|token|passw(?:or)?d|credential)s?[a-z0-9_-]{0,20}\\{0,4}["']?\s{0,4}(?:=>|[:=])\s{0,4}\\{0,4}["'`]?(?P<s>[A-Za-z0-9_+/.=~-]{16,512})"#,
        3.5,
        "a value that looks random under a name such as api_key, secret, token or password",
    ),
    rule(
        HOME,
        &["home", "Users", "users"],
        r#"(?:^|[^A-Za-z0-9._~-])(?P<s>/(?:home|Users)/[^/\\\s"'`:;,<>()\[\]{}|*?&$]{1,64}|[A-Za-z]:(?:\\{1,4}|/)Users(?:\\{1,4}|/)[^/\\\s"'`:;,<>()\[\]{}|*?&$%]{1,64})"#,
        0.0,
        "the home folder of a person; `~` stands in its place",
    ),
];

const fn rule(
    id: &'static str,
    words: &'static [&'static str],
    pattern: &'static str,
    entropy: f64,
    about: &'static str,
) -> Rule {
    Rule { id, about, words, pattern, entropy }
}

/// Every rule.
pub fn rules() -> &'static [Rule] {
    TABLE
}

/// The rules with their patterns.
pub(super) fn compiled() -> impl Iterator<Item = (&'static Rule, &'static Regex)> {
    COMPILED.iter().map(|(rule, regex)| (*rule, regex))
}

/// Patterns that do not compile are left out; a test sees that there are none.
static COMPILED: LazyLock<Vec<(&'static Rule, Regex)>> = LazyLock::new(|| {
    TABLE.iter().filter_map(|rule| Some((rule, Regex::new(rule.pattern).ok()?))).collect()
});

#[cfg(test)]
mod tests {
    use super::{compiled, rules};

    #[test]
    fn every_rule_can_be_used() {
        assert_eq!(compiled().count(), rules().len());
        let mut ids: Vec<&str> = rules().iter().map(|rule| rule.id).collect();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), rules().len());
    }
}
