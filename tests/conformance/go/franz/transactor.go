package main

import (
	"context"
	"fmt"

	"broker-lite/conformance/lines"

	"github.com/twmb/franz-go/pkg/kgo"
)

func transactor(options map[string]string) {
	client, err := kgo.NewClient(producerOptions(options)...)
	lines.Must(err)
	defer client.Close()
	ctx := context.Background()
	lines.Serve(func(command []string) ([]any, error) {
		switch command[0] {
		case "init":
			_, _, err := client.ProducerID(ctx)
			return nil, err
		case "begin":
			return nil, client.BeginTransaction()
		case "send":
			record := &kgo.Record{Topic: options["topic"], Partition: int32(lines.Int(command[1])), Value: []byte(command[2])}
			return nil, client.ProduceSync(ctx, record).FirstErr()
		case "commit":
			return nil, client.EndTransaction(ctx, kgo.TryCommit)
		case "abort":
			return nil, client.EndTransaction(ctx, kgo.TryAbort)
		}
		return nil, fmt.Errorf("no command %s", command[0])
	})
}
