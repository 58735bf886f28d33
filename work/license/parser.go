package license

import "strings"

// parser reads an expression, whose characters were already validated, by recursive descent and
// writes its canonical form. After the first problem there are no more tokens, so every rule
// ends by itself.
type parser struct {
	rest    string
	token   string // "(", ")" or a word; empty at the end
	problem string
	out     strings.Builder
}

func (p *parser) fail(problem string) {
	if p.problem == "" {
		p.problem = problem
	}
	p.token, p.rest = "", ""
}

// next reads the next token: a word or a parenthesis.
func (p *parser) next() {
	p.rest = strings.TrimLeft(p.rest, " ")
	size := 0
	for size < len(p.rest) && isWordByte(p.rest[size]) {
		size++
	}
	if size == 0 && p.rest != "" {
		size = 1
	}
	p.token, p.rest = p.rest[:size], p.rest[size:]
}

func isWordByte(c byte) bool { return isNameByte(c) || c == '+' || c == ':' }

func isNameByte(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' ||
		c == '-' || c == '.'
}

// isOperator reports whether the token is the operator, which is given in upper case.
func (p *parser) isOperator(operator string) bool {
	return p.token == operator || p.token == strings.ToLower(operator)
}

func (p *parser) expression(depth int) {
	p.andTerm(depth)
	for p.isOperator("OR") {
		p.out.WriteString(" OR ")
		p.next()
		p.andTerm(depth)
	}
}

func (p *parser) andTerm(depth int) {
	p.term(depth)
	for p.isOperator("AND") {
		p.out.WriteString(" AND ")
		p.next()
		p.term(depth)
	}
}

func (p *parser) term(depth int) {
	if p.token != "(" {
		p.simple()
		if p.isOperator("WITH") {
			p.out.WriteString(" WITH ")
			p.next()
			p.addition()
		}
		return
	}
	if depth == DepthMax {
		p.fail("The parentheses of the license expression are nested deeper than 32.")
		return
	}
	p.out.WriteByte('(')
	p.next()
	p.expression(depth + 1)
	if p.token != ")" {
		if p.token == "" {
			p.fail("The license expression has an opening parenthesis without a closing one.")
		} else {
			p.fail("There is " + quote(p.token) + " where AND, OR or \")\" was expected.")
		}
		return
	}
	p.out.WriteByte(')')
	if p.next(); p.isOperator("WITH") {
		p.fail("WITH follows a license identifier, not a parenthesis.")
	}
}

// isOperand reports whether the token can name a license or an exception, and fails otherwise.
func (p *parser) isOperand(wanted string) bool {
	switch {
	case p.token == "":
		p.fail("The license expression ends where " + wanted + " was expected.")
	case p.token == "(" || p.token == ")",
		p.isOperator("AND"), p.isOperator("OR"), p.isOperator("WITH"):
		p.fail("There is " + quote(p.token) + " where " + wanted + " was expected.")
	case strings.EqualFold(p.token, NoAssertion) || strings.EqualFold(p.token, None):
		p.fail(strings.ToUpper(p.token) +
			" must be used alone; it cannot be part of a license expression.")
	default:
		return true
	}
	return false
}

// simple reads one license. "+" is part of a listed identifier (GPL-2.0+) or means "or any later
// version"; it is never both.
func (p *parser) simple() {
	if !p.isOperand("a license") {
		return
	}
	id, known := ids[strings.ToLower(p.token)]
	if !known {
		if base, later := strings.CutSuffix(p.token, "+"); later {
			if id, known = ids[strings.ToLower(base)]; known && !strings.HasSuffix(id, "+") {
				id += "+"
			} else {
				known = false
			}
		}
	}
	if !known {
		id, known = reference(p.token, "LicenseRef-")
	}
	if !known {
		p.fail(quote(p.token) + " is not an SPDX license identifier, nor a LicenseRef-.")
		return
	}
	p.out.WriteString(id)
	p.next()
}

// addition reads the identifier after WITH.
func (p *parser) addition() {
	if !p.isOperand("a license exception") {
		return
	}
	id, known := exceptions[strings.ToLower(p.token)]
	if !known {
		id, known = reference(p.token, "AdditionRef-")
	}
	if !known {
		p.fail(quote(p.token) + " is not an SPDX exception identifier, nor an AdditionRef-.")
		return
	}
	p.out.WriteString(id)
	p.next()
}

// reference reads a name that the author defines elsewhere, with or without the document that
// defines it. The prefixes get their canonical case; the names stay unchanged.
func reference(word, prefix string) (canonical string, ok bool) {
	document := ""
	if first, second, both := strings.Cut(word, ":"); both {
		const documentPrefix = "DocumentRef-"
		name, ok := cutName(first, documentPrefix)
		if !ok {
			return "", false
		}
		document, word = documentPrefix+name+":", second
	}
	name, ok := cutName(word, prefix)
	if !ok {
		return "", false
	}
	return document + prefix + name, true
}

// cutName removes a prefix, in any case, from a word and requires a name after it.
func cutName(word, prefix string) (name string, ok bool) {
	if len(word) <= len(prefix) || !strings.EqualFold(word[:len(prefix)], prefix) {
		return "", false
	}
	name = word[len(prefix):]
	for i := 0; i < len(name); i++ {
		if !isNameByte(name[i]) {
			return "", false
		}
	}
	return name, true
}
