package identity

import (
	"encoding/base64"
)

// base64url is unpadded and accepts one encoding of each value only. The decoder skips line
// breaks, so lengths are checked separately.
var base64url = base64.RawURLEncoding.Strict()

// decodeBase64 decodes a canonical text into out and reports whether it is valid.
func decodeBase64(out []byte, text string) bool {
	if len(text) != base64url.EncodedLen(len(out)) {
		return false
	}
	n, err := base64url.Decode(out, []byte(text))
	return err == nil && n == len(out)
}

// formatTime writes Unix milliseconds as RFC 3339 in UTC with three decimals, for years 0 to 9999.
func formatTime(millis int64) string {
	const dayMillis = 24 * 3600 * 1000
	days, rest := millis/dayMillis, millis%dayMillis
	if rest < 0 {
		days, rest = days-1, rest+dayMillis
	}
	year, month, day := civil(days)
	out := make([]byte, 0, len("2006-01-02T15:04:05.000Z"))
	out = appendDigits(out, year, 4)
	out = appendDigits(append(out, '-'), month, 2)
	out = appendDigits(append(out, '-'), day, 2)
	out = appendDigits(append(out, 'T'), rest/3_600_000, 2)
	out = appendDigits(append(out, ':'), rest/60_000%60, 2)
	out = appendDigits(append(out, ':'), rest/1000%60, 2)
	out = appendDigits(append(out, '.'), rest%1000, 3)
	return string(append(out, 'Z'))
}

// civil converts days since 1970-01-01 into a date of the Gregorian calendar. It counts in eras
// of 400 years from 1 March of year 0, so that the leap day comes last in its year.
func civil(days int64) (year, month, day int64) {
	const eraDays = 146_097
	days += 719_468
	era := days / eraDays
	if days < 0 {
		era = (days - eraDays + 1) / eraDays
	}
	dayOfEra := days - era*eraDays
	yearOfEra := (dayOfEra - dayOfEra/1460 + dayOfEra/36_524 - dayOfEra/146_096) / 365
	dayOfYear := dayOfEra - (365*yearOfEra + yearOfEra/4 - yearOfEra/100)
	monthFromMarch := (5*dayOfYear + 2) / 153
	day = dayOfYear - (153*monthFromMarch+2)/5 + 1
	month = monthFromMarch + 3
	year = yearOfEra + era*400
	if month > 12 {
		month, year = month-12, year+1
	}
	return year, month, day
}

// appendDigits writes the last width decimal digits of a value that is not negative.
func appendDigits(dst []byte, value int64, width int) []byte {
	start := len(dst)
	for range width {
		dst = append(dst, '0')
	}
	for i := len(dst) - 1; i >= start; i-- {
		dst[i] = byte('0' + value%10)
		value /= 10
	}
	return dst
}
