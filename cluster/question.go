package cluster

import (
	"context"
	"errors"
)

// Question puts a question to the other members, one after the other, until one answers it. Errors:
// those of all of them, as their texts.
func (m *Membership) Question(question []byte) ([]byte, error) {
	err := errors.New("cluster: there is no other member")
	var failed []error
	for _, one := range m.Status().Members {
		if one.Number == m.settings.Number {
			continue
		}
		kind, answer, err := m.network.call(context.Background(), one.Number, frameQuestion, question)
		if err == nil && kind == frameQuestion {
			return answer, nil
		}
		failed = append(failed, err)
	}
	if len(failed) > 0 {
		err = errors.Join(failed...)
	}
	return nil, err
}
