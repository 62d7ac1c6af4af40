package main

import (
	"context"
	"time"

	"broker-lite/conformance/lines"

	"github.com/twmb/franz-go/pkg/kgo"
)

func member(options map[string]string) {
	client, err := kgo.NewClient(append(consumerOptions(options), kgo.BlockRebalanceOnPoll())...)
	lines.Must(err)
	defer client.CloseAllowingRebalance()
	commands := lines.Commands()
	for {
		select {
		case command, open := <-commands:
			if !open {
				return
			}
			offset := kgo.EpochOffset{Epoch: -1, Offset: lines.Int(command[2])}
			client.SetOffsets(map[string]map[int32]kgo.EpochOffset{options["topic"]: {int32(lines.Int(command[1])): offset}})
			lines.Emit("done", command[0], command[1], command[2])
		default:
			take(client)
			client.AllowRebalance()
		}
	}
}

func take(client *kgo.Client) {
	ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer cancel()
	var records []*kgo.Record
	client.PollRecords(ctx, 20).EachRecord(func(record *kgo.Record) {
		lines.Emit("read", record.Partition, record.Offset, string(record.Value))
		records = append(records, record)
	})
	if len(records) == 0 {
		return
	}
	long, stop := context.WithTimeout(context.Background(), 5*time.Second)
	defer stop()
	if err := client.CommitRecords(long, records...); err != nil {
		lines.Emit("refused", lines.Name(err))
		return
	}
	for _, record := range records {
		lines.Emit("committed", record.Partition, record.Offset+1)
	}
}
