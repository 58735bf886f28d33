package http

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/valyala/fasthttp"
)

// logged writes the access log: every request at debug level, slow ones as warnings. Targets and
// headers can hold private data, so it logs the name of the operation instead.
func (s *Server) logged(x *exchange, elapsed time.Duration) {
	level := slog.LevelDebug
	if s.cfg.SlowRequest > 0 && elapsed >= s.cfg.SlowRequest {
		level = slog.LevelWarn
	}
	if !s.log.Enabled(context.Background(), level) {
		return
	}
	message := "request"
	if level == slog.LevelWarn {
		message = "slow request"
	}
	s.log.LogAttrs(context.Background(), level, message,
		slog.String("request_id", string(x.requestID[:])),
		slog.String("method", string(x.ctx.Method())),
		slog.String("operation", x.operationName()),
		slog.Int("status", x.ctx.Response.StatusCode()),
		slog.String("code", x.code),
		slog.Duration("elapsed", elapsed),
		slog.String("ip", x.ip.String()),
	)
}

// transportLog logs what fasthttp reports about connections.
type transportLog struct{ log *slog.Logger }

// Printf is called with texts without content of requests.
func (t transportLog) Printf(format string, args ...any) {
	const lineMax = 500
	line := fmt.Sprintf(format, args...)
	t.log.Warn("transport", slog.String("event", line[:min(len(line), lineMax)]))
}

var _ fasthttp.Logger = transportLog{}
