package http

import "bytes"

// preference is what a client prefers of the answer to a write.
type preference uint8

const (
	// anyReturn means that the client prefers nothing that the server knows.
	anyReturn preference = iota
	returnMinimal
	returnRepresentation
)

// preferred makes the data of the answer to a write what the header Prefer asks for, and says so.
// Other operations ignore the header.
func (x *exchange) preferred(data []byte) []byte {
	filter := x.route.operation.Minimal()
	if filter == nil {
		return data
	}
	h := &x.ctx.Response.Header
	switch preferredReturn(x.headers.prefer) {
	case returnMinimal:
		h.Set("Preference-Applied", "return=minimal")
		return filter.Apply(data)
	case returnRepresentation:
		h.Set("Preference-Applied", "return=representation")
	case anyReturn:
	}
	return data
}

// preferredReturn reads the preference return from the header Prefer (RFC 7240). Other preferences,
// other values and parameters are ignored. If the preference is there several times, the first one
// counts.
func preferredReturn(list []byte) preference {
	for len(list) > 0 {
		var one []byte
		one, list = cutUnquoted(list, ',')
		one, _ = cutUnquoted(one, ';')
		name, value, _ := bytes.Cut(one, []byte("="))
		if !bytes.EqualFold(trimBlank(name), []byte("return")) {
			continue
		}
		value = trimBlank(value)
		if len(value) >= 2 && value[0] == '"' && value[len(value)-1] == '"' {
			value = value[1 : len(value)-1]
		}
		switch {
		case bytes.EqualFold(value, []byte("minimal")):
			return returnMinimal
		case bytes.EqualFold(value, []byte("representation")):
			return returnRepresentation
		}
		return anyReturn
	}
	return anyReturn
}

func trimBlank(text []byte) []byte { return bytes.Trim(text, " \t") }

// cutUnquoted cuts a text at the first separator that is not in a quoted string.
func cutUnquoted(text []byte, separator byte) (before, after []byte) {
	quoted := false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '"':
			quoted = !quoted
		case c == '\\' && quoted:
			i++
		case c == separator && !quoted:
			return text[:i], text[i+1:]
		}
	}
	return text, nil
}
