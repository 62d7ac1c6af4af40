package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"broker-lite/conformance/lines"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

const pause = 10 * time.Millisecond

func writerOptions(options map[string]string) []kgo.Opt {
	made := []kgo.Opt{
		kgo.SeedBrokers(strings.Split(options["bootstrap"], ",")...), kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.ProduceRequestTimeout(lines.Milliseconds(options, "request_ms")), kgo.RecordDeliveryTimeout(lines.Milliseconds(options, "delivery_ms")),
		kgo.RequestTimeoutOverhead(lines.Milliseconds(options, "request_ms")),
		kgo.ProducerLinger(0), kgo.MetadataMinAge(metadataAge), kgo.MetadataMaxAge(2 * time.Second),
	}
	if options["idempotent"] != "true" {
		made = append(made, kgo.DisableIdempotentWrite())
	}
	if options["acks"] == "1" {
		made = append(made, kgo.RequiredAcks(kgo.LeaderAck()))
	}
	return made
}

func writer(options map[string]string) {
	client, err := kgo.NewClient(writerOptions(options)...)
	lines.Must(err)
	defer client.Close()
	ctx := context.Background()
	var load sync.WaitGroup
	stopping := make(chan struct{})
	lines.Serve(func(command []string) ([]any, error) {
		switch command[0] {
		case "send":
			record := &kgo.Record{Topic: options["topic"], Partition: int32(lines.Int(command[1])), Value: []byte(command[2])}
			err := client.ProduceSync(ctx, record).FirstErr()
			return []any{record.Partition, record.Offset}, err
		case "load":
			load.Go(func() { write(client, options["topic"], int32(lines.Int(command[1])), stopping) })
			return nil, nil
		case "stop":
			close(stopping)
			load.Wait()
			return nil, client.Flush(ctx)
		case "leaders":
			return leaders(ctx, client, options["topic"])
		}
		return nil, fmt.Errorf("no command %s", command[0])
	})
}

func write(client *kgo.Client, topic string, partitions int32, stopping <-chan struct{}) {
	for number := 0; ; number++ {
		for partition := range partitions {
			record := &kgo.Record{Topic: topic, Partition: partition, Value: []byte(strconv.Itoa(number))}
			client.Produce(context.Background(), record, func(record *kgo.Record, err error) {
				if err != nil {
					lines.Emit("lost", record.Partition, string(record.Value), lines.Name(err))
				} else {
					lines.Emit("acked", record.Partition, record.Offset, string(record.Value))
				}
			})
		}
		select {
		case <-stopping:
			return
		case <-time.After(pause):
		}
	}
}

func leaders(ctx context.Context, client *kgo.Client, topic string) ([]any, error) {
	topics, err := kadm.NewClient(client).ListTopics(ctx, topic)
	if err != nil {
		return nil, err
	}
	var words []any
	for _, each := range topics[topic].Partitions.Sorted() {
		words = append(words, fmt.Sprintf("%d:%d", each.Partition, each.Leader))
	}
	return words, nil
}
