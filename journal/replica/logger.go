package replica

import (
	"fmt"
	"log/slog"

	"go.etcd.io/raft/v3"
)

// logger gives what raft says to a structured log. Raft calls Panic where a rule is broken.
type logger struct{ to *slog.Logger }

var _ raft.Logger = logger{}

func (l logger) Debug(...any)          {}
func (l logger) Debugf(string, ...any) {}

func (l logger) Error(v ...any)            { l.to.Error("raft", "text", fmt.Sprint(v...)) }
func (l logger) Errorf(f string, v ...any) { l.to.Error("raft", "text", fmt.Sprintf(f, v...)) }

func (l logger) Info(v ...any)            { l.to.Debug("raft", "text", fmt.Sprint(v...)) }
func (l logger) Infof(f string, v ...any) { l.to.Debug("raft", "text", fmt.Sprintf(f, v...)) }

func (l logger) Warning(v ...any)            { l.to.Warn("raft", "text", fmt.Sprint(v...)) }
func (l logger) Warningf(f string, v ...any) { l.to.Warn("raft", "text", fmt.Sprintf(f, v...)) }

func (l logger) Fatal(v ...any)            { panic(fmt.Sprint(v...)) }
func (l logger) Fatalf(f string, v ...any) { panic(fmt.Sprintf(f, v...)) }
func (l logger) Panic(v ...any)            { panic(fmt.Sprint(v...)) }
func (l logger) Panicf(f string, v ...any) { panic(fmt.Sprintf(f, v...)) }
