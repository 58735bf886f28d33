package cluster

import (
	"context"
	"errors"
	"fmt"
)

// Question puts a question to the other members, one after the other, until one answers it. Errors:
// those of all of them, as their texts.
func (m *Membership) Question(ctx context.Context, question []byte) ([]byte, error) {
	failed := []error{errors.New("cluster: no other member has answered")}
	for _, one := range m.Status().Members {
		if one.Number == m.settings.Number {
			continue
		}
		kind, answer, err := m.network.call(ctx, one.Number, frameQuestion, question)
		switch {
		case err == nil && kind == frameQuestion:
			return answer, nil
		case err == nil:
			err = fmt.Errorf("%w: frame %d answers a question", errProtocol, kind)
		}
		failed = append(failed, err)
	}
	return nil, errors.Join(failed...)
}
