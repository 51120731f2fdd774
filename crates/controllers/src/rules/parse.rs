//! From text to steps.

use super::program::{Fold, Step, Two, Value};

/// Maximum size of a text, bytes.
const MAX_TEXT: usize = 4 << 10;
/// Maximum number of steps of all rules: a fold repeats its steps for each subflow.
const MAX_STEPS: usize = 256;
/// Maximum nesting of an expression.
const MAX_DEPTH: usize = 32;

const VALUES: [(&str, Value); 8] = [
    ("cwnd", Value::Cwnd),
    ("ssthresh", Value::Ssthresh),
    ("srtt", Value::Srtt),
    ("rtt", Value::Rtt),
    ("min_rtt", Value::MinRtt),
    ("since_loss", Value::SinceLoss),
    ("energy", Value::Energy),
    ("price", Value::Price),
];
/// Words that no `let` may redefine, besides [`VALUES`].
const FIXED: [&str; 11] = [
    "n",
    "acked",
    "sum",
    "min",
    "max",
    "sqrt",
    "if",
    "let",
    "on_ack",
    "on_loss",
    "on_timeout",
];
const FUNCTIONS: &str = "there are sum, min, max, sqrt and if(condition, then, else)";
const EXAMPLE: &str = "a rule reads, for example, `on_ack: cwnd += 1 / cwnd`";

/// A mistake in rules.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{line}:{column}: {message}")]
pub struct RuleError {
    /// Line, from 1.
    pub line: usize,
    /// Column, in characters from 1.
    pub column: usize,
    /// What is wrong.
    pub message: String,
    /// How to fix it.
    pub help: String,
}

/// The steps of a text.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Parsed {
    /// The `let`s in order; each may read those before.
    pub(super) named: Vec<Vec<Step>>,
    /// The change of the window for an acknowledged packet.
    pub(super) ack: Vec<Step>,
    /// The window after a loss; empty: half.
    pub(super) loss: Vec<Step>,
    /// The window after a timeout; empty: as after a loss.
    pub(super) timeout: Vec<Step>,
}

#[derive(Clone, Debug, PartialEq)]
enum Kind<'t> {
    Number(f64),
    Word(&'t str),
    Sign(&'t str),
    /// The end of a line or of the text.
    End,
}

#[derive(Clone, Debug)]
struct Token<'t> {
    kind: Kind<'t>,
    line: usize,
    column: usize,
}

impl Token<'_> {
    fn wrong<T>(
        &self,
        message: impl Into<String>,
        help: impl Into<String>,
    ) -> Result<T, RuleError> {
        Err(RuleError {
            line: self.line,
            column: self.column,
            message: message.into(),
            help: help.into(),
        })
    }

    fn shown(&self) -> String {
        match self.kind {
            Kind::Number(number) => format!("`{number}`"),
            Kind::Word(text) | Kind::Sign(text) => format!("`{text}`"),
            Kind::End => "the end of the line".to_owned(),
        }
    }
}

/// Length of the token at the start of `rest`, and what it is; `None` for a character that is no
/// token.
fn token(rest: &str) -> Option<(usize, Kind<'_>)> {
    let first = rest.chars().next()?;
    let span = |is_in: fn(char) -> bool| rest.find(|c| !is_in(c)).unwrap_or(rest.len());
    if first.is_ascii_digit() || first == '.' {
        let is_digit = |c: char| c.is_ascii_digit() || c == '.';
        let mut length = span(is_digit);
        if let Some(power) = rest[length..].strip_prefix(['e', 'E']) {
            let digits = power.strip_prefix(['+', '-']).unwrap_or(power);
            let count = digits
                .find(|c: char| !c.is_ascii_digit())
                .unwrap_or(digits.len());
            length += if count > 0 {
                1 + power.len() - digits.len() + count
            } else {
                0
            };
        }
        return Some((length, Kind::Number(rest[..length].parse().ok()?)));
    }
    if first.is_ascii_alphabetic() {
        let length = span(|c| c.is_ascii_alphanumeric() || c == '_' || c == '.');
        return Some((length, Kind::Word(&rest[..length])));
    }
    let signs = ["+=", "-=", "*=", "/=", "<=", ">=", "==", "!="];
    let one = ["+", "-", "*", "/", "^", "(", ")", ",", ":", "=", "<", ">"];
    let sign = signs
        .into_iter()
        .chain(one)
        .find(|sign| rest.starts_with(sign))?;
    Some((sign.len(), Kind::Sign(&rest[..sign.len()])))
}

/// The tokens of a text. A line that ends inside parentheses goes on.
fn tokens(text: &str) -> Result<Vec<Token<'_>>, RuleError> {
    let (mut all, mut open) = (vec![], 0usize);
    for (number, line) in text.lines().enumerate() {
        let code = line.split('#').next().unwrap_or_default();
        let mut at = 0;
        let place = |at: usize, kind| Token {
            kind,
            line: number + 1,
            column: code[..at].chars().count() + 1,
        };
        while at < code.len() {
            let rest = &code[at..];
            if rest.starts_with(char::is_whitespace) {
                at += rest.len() - rest.trim_start().len();
                continue;
            }
            let Some((length, kind)) = token(rest) else {
                let first: String = rest
                    .chars()
                    .take_while(|c| !c.is_whitespace())
                    .take(12)
                    .collect();
                let help =
                    "use numbers, names, + - * / ^ ( ) and comparisons; `#` begins a comment";
                return place(at, Kind::End).wrong(format!("`{first}` cannot be read"), help);
            };
            open = match kind {
                Kind::Sign("(") => open + 1,
                Kind::Sign(")") => open.saturating_sub(1),
                _ => open,
            };
            all.push(place(at, kind));
            at += length;
        }
        if open == 0 {
            all.push(place(code.len(), Kind::End));
        }
    }
    let end = (
        text.lines().count().max(1),
        text.lines().last().map_or(0, |line| line.chars().count()) + 1,
    );
    all.push(Token {
        kind: Kind::End,
        line: end.0,
        column: end.1,
    });
    Ok(all)
}

struct Parser<'t> {
    tokens: Vec<Token<'t>>,
    next: usize,
    names: Vec<&'t str>,
    steps: Vec<Step>,
    /// Steps of all rules so far.
    total: usize,
    depth: usize,
    is_in_fold: bool,
}

/// Compiles a text.
pub(super) fn parse(text: &str) -> Result<Parsed, RuleError> {
    let start = Token {
        kind: Kind::End,
        line: 1,
        column: 1,
    };
    if text.len() > MAX_TEXT {
        let help = "C and Python controllers have no such limit";
        return start.wrong(
            format!("the rules have more than {} kB", MAX_TEXT >> 10),
            help,
        );
    }
    let mut parser = Parser {
        tokens: tokens(text)?,
        next: 0,
        names: vec![],
        steps: vec![],
        total: 0,
        depth: 0,
        is_in_fold: false,
    };
    let mut parsed = Parsed::default();
    while parser.next < parser.tokens.len() {
        if !parser.takes(&Kind::End) {
            parser.statement(&mut parsed)?;
        }
    }
    if parsed.ack.is_empty() {
        return start.wrong("there is no rule `on_ack`", EXAMPLE);
    }
    Ok(parsed)
}

impl<'t> Parser<'t> {
    fn token(&self) -> Token<'t> {
        self.tokens[self.next.min(self.tokens.len() - 1)].clone()
    }

    fn advance(&mut self) -> Token<'t> {
        let token = self.token();
        self.next += 1;
        token
    }

    fn takes(&mut self, kind: &Kind<'_>) -> bool {
        let is_next = self.token().kind == *kind;
        self.next += usize::from(is_next);
        is_next
    }

    fn expect(&mut self, sign: &'static str, help: &str) -> Result<(), RuleError> {
        let found = self.advance();
        match found.kind == Kind::Sign(sign) {
            true => Ok(()),
            false => found.wrong(
                format!("here must be `{sign}`, not {}", found.shown()),
                help,
            ),
        }
    }

    fn push(&mut self, token: &Token<'_>, step: Step) -> Result<(), RuleError> {
        self.steps.push(step);
        self.total += 1;
        match self.total > MAX_STEPS {
            true => token.wrong(
                format!("the rules need more than {MAX_STEPS} steps"),
                "compute a repeated part once: `let share = …`",
            ),
            false => Ok(()),
        }
    }

    fn statement(&mut self, parsed: &mut Parsed) -> Result<(), RuleError> {
        let first = self.advance();
        match first.kind {
            Kind::Word("let") => {
                let name = self.advance();
                let Kind::Word(word) = name.kind else {
                    return name.wrong("a name must follow `let`", "write `let share = …`");
                };
                let is_taken = FIXED.contains(&word)
                    || word.contains('.')
                    || VALUES.iter().any(|(known, _)| *known == word)
                    || self.names.contains(&word);
                if is_taken {
                    return name.wrong(
                        format!("`{word}` has a meaning already"),
                        "choose another name",
                    );
                }
                self.expect("=", "write `let share = …`")?;
                self.expression()?;
                self.names.push(word);
                parsed.named.push(std::mem::take(&mut self.steps));
            }
            Kind::Word(rule @ ("on_ack" | "on_loss" | "on_timeout")) => {
                let is_ack = rule == "on_ack";
                let steps = self.rule(&first, is_ack)?;
                let place = match rule {
                    "on_ack" => &mut parsed.ack,
                    "on_loss" => &mut parsed.loss,
                    _ => &mut parsed.timeout,
                };
                if !place.is_empty() {
                    let help = "join both into one expression, with if(condition, then, else)";
                    return first.wrong(format!("there are two rules `{rule}`"), help);
                }
                *place = steps;
            }
            _ => {
                let message = format!("no rule begins with {}", first.shown());
                let help = "there are on_ack, on_loss, on_timeout and let: `on_loss: cwnd /= 2`";
                return first.wrong(message, help);
            }
        }
        let end = self.advance();
        match end.kind {
            Kind::End => Ok(()),
            _ => end.wrong(
                format!("{} does not belong here", end.shown()),
                "one rule per line",
            ),
        }
    }

    /// The steps after `on_ack`, which give a change, or after another rule, which give a window.
    fn rule(&mut self, first: &Token<'_>, gives_change: bool) -> Result<Vec<Step>, RuleError> {
        self.expect(":", EXAMPLE)?;
        let target = self.advance();
        if target.kind != Kind::Word("cwnd") {
            return target.wrong(
                format!("a rule changes `cwnd`, not {}", target.shown()),
                EXAMPLE,
            );
        }
        let operator = self.advance();
        let two = match operator.kind {
            Kind::Sign("=") => None,
            Kind::Sign("+=") => Some(Two::Add),
            Kind::Sign("-=") => Some(Two::Subtract),
            Kind::Sign("*=") => Some(Two::Multiply),
            Kind::Sign("/=") => Some(Two::Divide),
            _ => {
                let message = format!("after `cwnd` comes an assignment, not {}", operator.shown());
                return operator.wrong(message, "write cwnd =, +=, -=, *= or /=");
            }
        };
        let cwnd = Step::Own(Value::Cwnd);
        match (two, gives_change) {
            (Some(Two::Add), true) => self.expression()?,
            (Some(Two::Subtract), true) => {
                self.expression()?;
                self.push(first, Step::Negate)?;
            }
            (None, _) => self.expression()?,
            (Some(two), _) => {
                self.push(first, cwnd)?;
                self.expression()?;
                self.push(first, Step::Two(two))?;
            }
        }
        if gives_change && !matches!(two, Some(Two::Add | Two::Subtract)) {
            self.push(first, cwnd)?;
            self.push(first, Step::Two(Two::Subtract))?;
        }
        Ok(std::mem::take(&mut self.steps))
    }

    fn expression(&mut self) -> Result<(), RuleError> {
        self.sum()?;
        let operator = self.token();
        // a > b is b < a: the operands are on the stack in order, so its negation is used.
        let (two, is_negated) = match operator.kind {
            Kind::Sign("<") => (Two::Less, false),
            Kind::Sign("<=") => (Two::AtMost, false),
            Kind::Sign(">") => (Two::AtMost, true),
            Kind::Sign(">=") => (Two::Less, true),
            Kind::Sign("==") => (Two::Equal, false),
            Kind::Sign("!=") => (Two::Unequal, false),
            _ => return Ok(()),
        };
        self.next += 1;
        self.sum()?;
        self.push(&operator, Step::Two(two))?;
        if is_negated {
            self.push(&operator, Step::Number(0.0))?;
            self.push(&operator, Step::Two(Two::Equal))?;
        }
        Ok(())
    }

    fn sum(&mut self) -> Result<(), RuleError> {
        self.left_to_right(Self::product, [("+", Two::Add), ("-", Two::Subtract)])
    }

    fn product(&mut self) -> Result<(), RuleError> {
        self.left_to_right(Self::factor, [("*", Two::Multiply), ("/", Two::Divide)])
    }

    /// Operands with signs of one precedence between them, from left to right.
    fn left_to_right(
        &mut self,
        operand: fn(&mut Self) -> Result<(), RuleError>,
        signs: [(&'static str, Two); 2],
    ) -> Result<(), RuleError> {
        operand(self)?;
        loop {
            let operator = self.token();
            let Some((_, two)) = signs
                .into_iter()
                .find(|(sign, _)| operator.kind == Kind::Sign(sign))
            else {
                return Ok(());
            };
            self.next += 1;
            operand(self)?;
            self.push(&operator, Step::Two(two))?;
        }
    }

    /// A signed power: `-a^b`. Every nesting goes through here.
    fn factor(&mut self) -> Result<(), RuleError> {
        let token = self.token();
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            let message = format!("the expression is nested more than {MAX_DEPTH} deep");
            return token.wrong(message, "name its parts: `let share = …`");
        }
        if self.takes(&Kind::Sign("-")) {
            self.factor()?;
            self.push(&token, Step::Negate)?;
        } else {
            self.atom()?;
            if self.takes(&Kind::Sign("^")) {
                self.factor()?;
                self.push(&token, Step::Two(Two::Power))?;
            }
        }
        self.depth -= 1;
        Ok(())
    }

    fn atom(&mut self) -> Result<(), RuleError> {
        let token = self.advance();
        match token.kind {
            Kind::Number(number) => self.push(&token, Step::Number(number)),
            Kind::Sign("(") => {
                self.expression()?;
                self.expect(")", "close each parenthesis")
            }
            Kind::Word(word) if self.takes(&Kind::Sign("(")) => self.call(&token, word),
            Kind::Word(word) => {
                let step = self.read(&token, word)?;
                self.push(&token, step)
            }
            _ => token.wrong(
                format!(
                    "here must be a number, a name or `(`, not {}",
                    token.shown()
                ),
                "an operator needs a value on both sides",
            ),
        }
    }

    fn read(&self, token: &Token<'_>, word: &str) -> Result<Step, RuleError> {
        let known = |name: &str| {
            VALUES
                .iter()
                .find(|(known, _)| *known == name)
                .map(|&(_, value)| value)
        };
        if let Some(place) = self.names.iter().position(|name| *name == word) {
            return Ok(Step::Named(place));
        }
        match (word, word.strip_prefix("own.").and_then(known), known(word)) {
            ("n", ..) => Ok(Step::Count),
            ("acked", ..) => Ok(Step::Number(1.0)),
            (_, Some(value), _) => Ok(Step::Own(value)),
            (_, None, Some(value)) => Ok(if self.is_in_fold {
                Step::Each(value)
            } else {
                Step::Own(value)
            }),
            _ => {
                let names = VALUES
                    .map(|(name, _)| name)
                    .into_iter()
                    .chain(["n", "acked"]);
                let all: Vec<&str> = names.chain(self.names.iter().copied()).collect();
                let near = |name: &&&str| strsim::damerau_levenshtein(name, word);
                let nearest = all.iter().min_by_key(near).copied().unwrap_or("cwnd");
                let help = format!("did you mean `{nearest}`? There are: {}", all.join(", "));
                token.wrong(format!("`{word}` is not known"), help)
            }
        }
    }

    /// A function, whose parenthesis is open. `min` and `max` of one value are those of all
    /// subflows.
    fn call(&mut self, token: &Token<'_>, word: &str) -> Result<(), RuleError> {
        let fold = match word {
            "sum" => Some(Fold::Sum),
            "min" => Some(Fold::Min),
            "max" => Some(Fold::Max),
            "sqrt" | "if" => None,
            _ => return token.wrong(format!("there is no function `{word}`"), FUNCTIONS),
        };
        let (start, was_in_fold) = (self.steps.len(), self.is_in_fold);
        let is_fold = fold.is_some() && (word == "sum" || !self.has_second_argument());
        if let (true, Some(fold)) = (is_fold, fold) {
            if was_in_fold {
                let help = "name the inner one first: `let total = sum(cwnd)`";
                return token.wrong(format!("`{word}` over all subflows inside another"), help);
            }
            self.is_in_fold = true;
            self.push(token, Step::Fold(fold, 0))?;
        }
        let mut count = 0;
        loop {
            self.expression()?;
            count += 1;
            if count > 1 && !is_fold {
                match word {
                    "min" => self.push(token, Step::Two(Two::Min))?,
                    "max" => self.push(token, Step::Two(Two::Max))?,
                    _ => {}
                }
            }
            if !self.takes(&Kind::Sign(",")) {
                break;
            }
        }
        self.expect(")", "close each parenthesis")?;
        self.is_in_fold = was_in_fold;
        let wanted = if word == "if" { 3 } else { 1 };
        let is_pair = matches!(word, "min" | "max");
        if count != wanted && !is_pair {
            let help = if word == "if" {
                "write if(condition, then, else)"
            } else {
                "it has one argument"
            };
            return token.wrong(format!("`{word}` has {count} arguments"), help);
        }
        match word {
            "sqrt" => self.push(token, Step::SquareRoot),
            "if" => self.push(token, Step::If),
            _ => {
                let length = self.steps.len() - start - 1;
                if let Step::Fold(_, own) = &mut self.steps[start]
                    && is_fold
                {
                    *own = length;
                }
                Ok(())
            }
        }
    }

    /// Whether a comma follows at the level of the parenthesis that was opened last.
    fn has_second_argument(&self) -> bool {
        let mut level = 0usize;
        for token in &self.tokens[self.next.min(self.tokens.len())..] {
            match token.kind {
                Kind::Sign("(") => level += 1,
                Kind::Sign(")") if level == 0 => return false,
                Kind::Sign(")") => level -= 1,
                Kind::Sign(",") if level == 0 => return true,
                Kind::End => return false,
                _ => {}
            }
        }
        false
    }
}
