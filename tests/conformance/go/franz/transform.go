package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"broker-lite/conformance/lines"

	"github.com/twmb/franz-go/pkg/kgo"
)

func transform(options map[string]string) {
	options["isolation"] = "read_committed"
	session, err := kgo.NewGroupTransactSession(append(append(consumerOptions(options), producerOptions(options)...), kgo.RequireStableFetchOffsets())...)
	lines.Must(err)
	defer session.Close()
	commands := lines.Commands()
	for {
		select {
		case <-commands:
			return
		default:
			move(session, options["output"])
		}
	}
}

func move(session *kgo.GroupTransactSession, output string) {
	ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer cancel()
	fetches := session.PollRecords(ctx, 20)
	if fetches.NumRecords() == 0 {
		return
	}
	lines.Must(session.Begin())
	failed := kgo.AbortingFirstErrPromise(session.Client())
	fetches.EachRecord(func(record *kgo.Record) {
		value := fmt.Sprintf("%d:%d", record.Partition, record.Offset)
		session.Produce(context.Background(), &kgo.Record{Topic: output, Partition: record.Partition, Value: []byte(value)}, failed.Promise())
	})
	sent := failed.Err() == nil
	committed, err := session.End(context.Background(), kgo.TransactionEndTry(sent))
	switch {
	case cannotDial(err): // it has aborted, and has gone back to what is committed
		lines.Emit("gave_up", sent)
	case err != nil:
		panic(err)
	case committed:
		lines.Emit("moved", fetches.NumRecords())
	default:
		lines.Emit("gave_up", sent)
	}
}

// The library asks any broker who coordinates the group, and asks no other one when it dialled two
// that are down.
func cannotDial(err error) bool {
	var failed *net.OpError
	return errors.As(err, &failed) && failed.Op == "dial"
}
