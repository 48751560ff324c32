//! Exact decimals from their text.
//!
//! A JSON number is a decimal with a sign, digits and an exponent, and nothing here is ever rounded: `1`, `1.0` and
//! `1e0` are one number, 9007199254740993 and …992 are two. Exponents are added, never expanded, so `1e999999999`
//! costs no more than `1`. A double is only consulted to *explain* a difference that is already proven.

use std::cmp::Ordering;

use smallvec::SmallVec;

/// Decimal digits; 64 held inline cover every 64-bit integer and double without an allocation.
type Digits = SmallVec<[u8; 64]>;

/// Largest distance between the digits of two numbers within a tolerance. Aligning more would cost memory in proportion
/// to a number that the services chose, and a thousand digits are more than any tolerance needs.
const MAX_ALIGNED_DIGITS: i128 = 1_000;

/// `±0.d₁d₂d₃… × 10^magnitude` with `d₁` and the last digit not zero; no digits at all for zero.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Decimal {
    negative: bool,
    digits: Digits,
    magnitude: i128,
}

/// Whether two lexemes of the JSON grammar are the same decimal.
pub(crate) fn same_decimal(legacy: &[u8], candidate: &[u8]) -> bool {
    legacy == candidate
        || match (Decimal::parse(legacy), Decimal::parse(candidate)) {
            (Some(legacy), Some(candidate)) => legacy == candidate,
            // An exponent of more than 37 digits: only the same text is certainly the same number.
            _ => false,
        }
}

impl Decimal {
    /// Reads a lexeme of the JSON number grammar; `None` for any other text and for exponents beyond 37 digits.
    pub(crate) fn parse(lexeme: &[u8]) -> Option<Self> {
        let (negative, unsigned) = match lexeme {
            [b'-', rest @ ..] => (true, rest),
            rest => (false, rest),
        };
        let mantissa_end = memchr::memchr2(b'e', b'E', unsigned).unwrap_or(unsigned.len());
        let (mantissa, exponent) = unsigned.split_at(mantissa_end);
        let point = memchr::memchr(b'.', mantissa).unwrap_or(mantissa.len());
        let (whole, fraction) = mantissa.split_at(point);
        if !is_number(lexeme) {
            return None;
        }
        let fraction = fraction.get(1..).unwrap_or(&[]);
        let exponent = parse_exponent(exponent.get(1..).unwrap_or(&[]));
        let mut digits: Digits = whole.iter().chain(fraction).copied().collect();
        while digits.last() == Some(&b'0') {
            digits.pop();
        }
        let zeros = digits.iter().take_while(|digit| **digit == b'0').count();
        digits.drain(..zeros);
        if digits.is_empty() {
            return Some(Self {
                negative: false,
                digits,
                magnitude: 0,
            });
        }
        let magnitude = exponent?.checked_add(whole.len() as i128 - zeros as i128)?;
        Some(Self {
            negative,
            digits,
            magnitude,
        })
    }

    /// A text that is the same for all spellings of a decimal: sign, digits, `e`, power of ten.
    pub(crate) fn canonical(&self) -> Vec<u8> {
        let mut text = Vec::with_capacity(self.digits.len() + 8);
        if self.negative {
            text.push(b'-');
        }
        text.extend_from_slice(&self.digits);
        text.push(b'e');
        text.extend_from_slice(self.magnitude.to_string().as_bytes());
        text
    }

    pub(crate) fn is_zero(&self) -> bool {
        self.digits.is_empty()
    }

    pub(crate) fn is_negative(&self) -> bool {
        self.negative
    }

    /// Whether the digit at a decimal place is even; a place without a digit counts as 0.
    fn is_even(&self, place: i128) -> bool {
        let index = usize::try_from(self.magnitude + place - 1).ok();
        let digit = index.and_then(|index| self.digits.get(index));
        digit.is_none_or(|digit| digit % 2 == 0)
    }

    /// Decimal places that the value needs; 0 for whole numbers.
    fn places(&self) -> i128 {
        (self.digits.len() as i128 - self.magnitude).max(0)
    }

    /// The same number times `10^power`.
    pub(crate) fn shifted(mut self, power: i128) -> Self {
        if !self.is_zero() {
            self.magnitude = self.magnitude.saturating_add(power);
        }
        self
    }

    /// The power of ten by which `self` is larger than `other`, if they differ only in that.
    pub(crate) fn power_over(&self, other: &Self) -> Option<i128> {
        (!self.is_zero() && self.negative == other.negative && self.digits == other.digits)
            .then(|| self.magnitude - other.magnitude)
    }

    /// Digits before and after the decimal point, the latter without trailing zeros; `None` if the whole part is longer
    /// than `limit` digits.
    pub(crate) fn split(&self, limit: usize) -> Option<(Digits, Digits)> {
        if self.magnitude > limit as i128 || self.places() > MAX_ALIGNED_DIGITS {
            return None;
        }
        let aligned = self.aligned(self.magnitude.max(0), -self.places());
        let whole = self.magnitude.max(0) as usize;
        Some((
            aligned.iter().take(whole).copied().collect(),
            aligned.iter().skip(whole).copied().collect(),
        ))
    }

    /// ASCII digits for the positions `10^(high-1)` down to `10^low`.
    fn aligned(&self, high: i128, low: i128) -> Digits {
        let last = self.magnitude - self.digits.len() as i128;
        let mut out = Digits::new();
        out.extend((self.magnitude..high).map(|_| b'0'));
        out.extend(self.digits.iter().copied());
        out.extend((low..last).map(|_| b'0'));
        out
    }

    /// `|self - other| <= bound`, exactly. False when the numbers are too far apart to be aligned.
    pub(crate) fn within(&self, other: &Self, bound: &Self) -> bool {
        match self.distance(other) {
            Some(distance) => distance.at_most(bound),
            None => false,
        }
    }

    /// `|self - other| <= factor × max(|self|, |other|)`, exactly.
    pub(crate) fn within_relative(&self, other: &Self, factor: &Self) -> bool {
        let larger = if self.at_most(other) { other } else { self };
        match self.distance(other) {
            Some(distance) => distance.at_most(&larger.times(factor)),
            None => false,
        }
    }

    /// Which of the two is larger.
    pub(crate) fn compare(&self, other: &Self) -> Ordering {
        let sign = |number: &Self| match (number.is_zero(), number.negative) {
            (true, _) => 0,
            (false, true) => -1,
            (false, false) => 1,
        };
        let by_sign = sign(self).cmp(&sign(other));
        if by_sign.is_ne() || self.is_zero() {
            return by_sign;
        }
        let by_size = (self.magnitude, &self.digits).cmp(&(other.magnitude, &other.digits));
        if self.negative {
            by_size.reverse()
        } else {
            by_size
        }
    }

    /// The power of two that the absolute value lies at or above, but for what a double rounds; `None` for zero.
    pub(crate) fn power_of_two(&self) -> Option<i128> {
        /// More digits change no power.
        const DIGITS: usize = 17;
        if self.is_zero() {
            return None;
        }
        let leading = self.digits.iter().take(DIGITS).rev();
        let mantissa = leading.fold(0.0_f64, |value, digit| {
            (value + f64::from(digit - b'0')) / 10.0
        });
        let bounded = self.magnitude.clamp(-1_000_000, 1_000_000) as f64;
        Some((mantissa.log2() + bounded * std::f64::consts::LOG2_10).floor() as i128)
    }

    /// `|self - other|`, exactly; `None` when they are too far apart to be aligned.
    pub(crate) fn distance(&self, other: &Self) -> Option<Self> {
        if self.is_zero() || other.is_zero() {
            let mut distance = if self.is_zero() { other } else { self }.clone();
            distance.negative = false;
            return Some(distance);
        }
        let high = self.magnitude.max(other.magnitude);
        let low = (self.magnitude - self.digits.len() as i128)
            .min(other.magnitude - other.digits.len() as i128);
        if high - low > MAX_ALIGNED_DIGITS {
            return None;
        }
        let (one, two) = (self.aligned(high, low), other.aligned(high, low));
        let (sum, high) = if self.negative == other.negative {
            let (more, less) = if one >= two {
                (&one, &two)
            } else {
                (&two, &one)
            };
            (subtract(more, less), high)
        } else {
            (add(&one, &two), high + 1)
        };
        Some(Self::from_digits(sum, high))
    }

    /// `|self| <= |other|`.
    fn at_most(&self, other: &Self) -> bool {
        match (self.is_zero(), other.is_zero()) {
            (true, _) => true,
            (false, true) => false,
            (false, false) => (self.magnitude, &self.digits) <= (other.magnitude, &other.digits),
        }
    }

    /// `|self × other|`; used with a factor from a rule, which has few digits.
    fn times(&self, other: &Self) -> Self {
        let mut product = vec![0_u32; self.digits.len() + other.digits.len()];
        for (i, one) in self.digits.iter().enumerate().rev() {
            let mut carry = 0;
            for (j, two) in other.digits.iter().enumerate().rev() {
                let cell =
                    product[i + j + 1] + u32::from(one - b'0') * u32::from(two - b'0') + carry;
                product[i + j + 1] = cell % 10;
                carry = cell / 10;
            }
            product[i] += carry;
        }
        let digits = product.iter().map(|digit| b'0' + *digit as u8).collect();
        Self::from_digits(digits, self.magnitude.saturating_add(other.magnitude))
    }

    /// Digits from the first to the last that is not zero.
    pub(crate) fn digit_count(&self) -> usize {
        self.digits.len()
    }

    /// Whether `|self × factor|` is `|product|`. The factor has few digits.
    pub(crate) fn is_times(&self, factor: &Self, product: &Self) -> bool {
        // A product has at most the digits of both.
        let fits = self.digits.len() + factor.digits.len() >= product.digits.len();
        let found = fits.then(|| self.times(factor));
        found.is_some_and(|found| {
            found.magnitude == product.magnitude && found.digits == product.digits
        })
    }

    /// Builds a number from digits, the first of which counts `10^(high-1)`.
    fn from_digits(mut digits: Digits, high: i128) -> Self {
        while digits.last() == Some(&b'0') {
            digits.pop();
        }
        let zeros = digits.iter().take_while(|digit| **digit == b'0').count();
        digits.drain(..zeros);
        let magnitude = if digits.is_empty() {
            0
        } else {
            high - zeros as i128
        };
        Self {
            negative: false,
            digits,
            magnitude,
        }
    }
}

/// Whether the lexeme with more decimal places, rounded half up or half even to the places of the other, is the other.
/// Places count as written: `12.50` has more than `12.5`.
pub(crate) fn is_rounded(one: &[u8], two: &[u8]) -> bool {
    let (Some(first), Some(second)) = (Decimal::parse(one), Decimal::parse(two)) else {
        return false;
    };
    let (places, other) = (written_places(one), written_places(two));
    if places == other {
        return false;
    }
    // At most half a unit of the coarser one's last place apart.
    let half = Decimal {
        negative: false,
        digits: SmallVec::from_slice(b"5"),
        magnitude: -places.min(other),
    };
    // Anything small rounds to a zero without places; that explains nothing.
    let coarse = if places < other { &first } else { &second };
    let fine = if places < other { &second } else { &first };
    if (coarse.is_zero() && places.min(other) <= 0) || !first.within(&second, &half) {
        return false;
    }
    // Exactly halfway: away from zero, or to the even digit.
    let between = first.distance(&second).as_ref() == Some(&half);
    !between || fine.at_most(coarse) || coarse.is_even(places.min(other))
}

/// Decimal places as written, minus the exponent; 0 for a whole number.
fn written_places(lexeme: &[u8]) -> i128 {
    let mantissa_end = memchr::memchr2(b'e', b'E', lexeme).unwrap_or(lexeme.len());
    let (mantissa, exponent) = lexeme.split_at(mantissa_end);
    let fraction = memchr::memchr(b'.', mantissa).map_or(0, |point| mantissa.len() - point - 1);
    let exponent = parse_exponent(exponent.get(1..).unwrap_or(&[])).unwrap_or(0);
    (fraction as i128 - exponent).max(0)
}

/// Whether the text is exactly one number of the JSON grammar.
pub(crate) fn is_number(text: &[u8]) -> bool {
    scan(text, 0).is_ok_and(|(end, _)| end == text.len())
}

/// Finds the end of the number that starts at `from`. The flag tells whether it is a plain integer, for which two
/// different texts are always two different numbers. The error is the offset of the invalid byte.
pub(crate) fn scan(bytes: &[u8], from: usize) -> Result<(usize, bool), usize> {
    let mut at = from;
    let negative = bytes.get(at) == Some(&b'-');
    at += usize::from(negative);
    let first = at;
    at = skip_digits(bytes, at);
    if at == first {
        return Err(at);
    }
    let leading_zero = bytes[first] == b'0';
    if leading_zero && at > first + 1 {
        return Err(first + 1);
    }
    let mut plain = !(negative && leading_zero);
    if bytes.get(at) == Some(&b'.') {
        plain = false;
        let fraction = at + 1;
        at = skip_digits(bytes, fraction);
        if at == fraction {
            return Err(at);
        }
    }
    if let Some(b'e' | b'E') = bytes.get(at) {
        plain = false;
        at += 1;
        if let Some(b'+' | b'-') = bytes.get(at) {
            at += 1;
        }
        let exponent = at;
        at = skip_digits(bytes, exponent);
        if at == exponent {
            return Err(at);
        }
    }
    Ok((at, plain))
}

fn skip_digits(bytes: &[u8], mut at: usize) -> usize {
    while bytes.get(at).is_some_and(u8::is_ascii_digit) {
        at += 1;
    }
    at
}

fn parse_exponent(text: &[u8]) -> Option<i128> {
    let (negative, digits) = match text {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] | rest => (false, rest),
    };
    let mut value: i128 = 0;
    for digit in digits {
        value = value
            .checked_mul(10)?
            .checked_add(i128::from(digit - b'0'))?;
    }
    // Half the range stays free, so that adding a length or subtracting two of them cannot overflow.
    (value < i128::MAX / 4).then_some(if negative { -value } else { value })
}

fn subtract(more: &[u8], less: &[u8]) -> Digits {
    let mut out = Digits::from_slice(more);
    let mut borrow = 0;
    for (digit, subtrahend) in out.iter_mut().zip(less).rev() {
        let due = subtrahend - b'0' + borrow;
        let value = *digit - b'0';
        borrow = u8::from(value < due);
        *digit = b'0' + value + 10 * borrow - due;
    }
    out
}

fn add(one: &[u8], two: &[u8]) -> Digits {
    let mut out = Digits::from_elem(b'0', one.len() + 1);
    let mut carry = 0;
    for (index, (left, right)) in one.iter().zip(two).enumerate().rev() {
        let sum = (left - b'0') + (right - b'0') + carry;
        out[index + 1] = b'0' + sum % 10;
        carry = sum / 10;
    }
    out[0] = b'0' + carry;
    out
}

#[cfg(test)]
mod tests;
