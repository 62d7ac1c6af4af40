// Everything that an application does with franz-go without a group: run as `go run . BOOTSTRAP PREFIX`.
// Prints one line a step; the first difference ends it with exit code 1.
package main

import (
	"bytes"
	"context"
	"fmt"
	"math/rand"
	"os"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

const (
	partitions = 3
	start      = int64(1_700_000_000_000)
)

func main() {
	bootstrap, prefix := os.Args[1], os.Args[2]
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	client, err := kgo.NewClient(kgo.SeedBrokers(bootstrap))
	must(err)
	defer client.Close()
	admin := kadm.NewClient(client)
	codecs := map[string]kgo.CompressionCodec{
		"none": kgo.NoCompression(), "gzip": kgo.GzipCompression(), "snappy": kgo.SnappyCompression(),
		"lz4": kgo.Lz4Compression(), "zstd": kgo.ZstdCompression(),
	}
	for _, name := range []string{"none", "gzip", "snappy", "lz4", "zstd"} {
		for _, idempotent := range []bool{true, false} {
			codec(ctx, admin, bootstrap, fmt.Sprintf("%s-%s-%t", prefix, name, idempotent), codecs[name], idempotent)
		}
	}
	manyPartitions(ctx, admin, bootstrap, prefix+"-many")
	administer(ctx, admin, bootstrap, prefix+"-admin")
	fmt.Println("all steps passed")
}

func codec(ctx context.Context, admin *kadm.Client, bootstrap, topic string, codec kgo.CompressionCodec, idempotent bool) {
	limit := "6000000"
	_, err := admin.CreateTopic(ctx, partitions, 1, map[string]*string{"max.message.bytes": &limit}, topic)
	must(err)
	sent := records(topic)
	produce(ctx, bootstrap, sent, codec, idempotent)
	expected := make([][]*kgo.Record, partitions)
	for _, record := range sent {
		check(record.Offset == int64(len(expected[record.Partition])), "offset of an acknowledged record")
		expected[record.Partition] = append(expected[record.Partition], record)
	}
	for _, isolation := range []kgo.IsolationLevel{kgo.ReadUncommitted(), kgo.ReadCommitted()} {
		readBack(ctx, bootstrap, topic, expected, len(sent), isolation)
	}
	byTimestamp(ctx, admin, topic)
	fmt.Printf("%s: %d records\n", topic, len(sent))
}

func records(topic string) []*kgo.Record {
	random := rand.New(rand.NewSource(7))
	sizes := []int{1, 0, 100, 1000, 16_384, 100_000, 1_000_000, 5_000_000}
	var made []*kgo.Record
	for i := range 200 {
		size := random.Intn(300)
		if i < len(sizes) {
			size = sizes[i]
		}
		value := make([]byte, size)
		random.Read(value)
		record := &kgo.Record{
			Topic: topic, Partition: int32(i % partitions), Value: value, Timestamp: time.UnixMilli(start + int64(i)*1000),
		}
		if i%3 != 0 {
			record.Key = []byte(fmt.Sprintf("key-%d", i))
		}
		if i%17 == 16 {
			record.Value = nil
		}
		if i%4 == 1 {
			record.Headers = []kgo.RecordHeader{
				{Key: "a"}, {Key: "a", Value: []byte{}}, {Key: "schlüssel", Value: []byte("wert")}, {Key: "", Value: []byte{0, 255}},
			}
		}
		made = append(made, record)
	}
	return made
}

func produce(ctx context.Context, bootstrap string, records []*kgo.Record, codec kgo.CompressionCodec, idempotent bool) {
	options := []kgo.Opt{
		kgo.SeedBrokers(bootstrap), kgo.ProducerBatchCompression(codec), kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.ProducerBatchMaxBytes(6_000_000), kgo.ProducerLinger(2 * time.Millisecond), kgo.MaxProduceRequestsInflightPerBroker(1),
	}
	if !idempotent {
		options = append(options, kgo.DisableIdempotentWrite(), kgo.RequiredAcks(kgo.LeaderAck()))
	}
	producer, err := kgo.NewClient(options...)
	must(err)
	defer producer.Close()
	must(producer.ProduceSync(ctx, records...).FirstErr())
}

func readBack(ctx context.Context, bootstrap, topic string, expected [][]*kgo.Record, total int, isolation kgo.IsolationLevel) {
	offsets := map[int32]kgo.Offset{}
	for partition := range expected {
		offsets[int32(partition)] = kgo.NewOffset().AtStart()
	}
	consumer, err := kgo.NewClient(
		kgo.SeedBrokers(bootstrap), kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: offsets}),
		kgo.FetchIsolationLevel(isolation), kgo.FetchMaxPartitionBytes(10_000_000),
	)
	must(err)
	defer consumer.Close()
	next := make([]int, len(expected))
	for seen := 0; seen < total; {
		fetches := consumer.PollFetches(ctx)
		must(fetches.Err())
		fetches.EachRecord(func(record *kgo.Record) {
			want := expected[record.Partition][next[record.Partition]]
			check(record.Offset == int64(next[record.Partition]), "offsets without a gap")
			same(want, record)
			next[record.Partition]++
			seen++
		})
	}
}

func same(a, b *kgo.Record) {
	check(bytes.Equal(a.Key, b.Key) && (a.Key == nil) == (b.Key == nil), "key")
	check(bytes.Equal(a.Value, b.Value) && (a.Value == nil) == (b.Value == nil), "value")
	check(a.Timestamp.UnixMilli() == b.Timestamp.UnixMilli(), "timestamp")
	check(len(a.Headers) == len(b.Headers), "header count")
	for i := range a.Headers {
		check(a.Headers[i].Key == b.Headers[i].Key && bytes.Equal(a.Headers[i].Value, b.Headers[i].Value), "header")
	}
}

func byTimestamp(ctx context.Context, admin *kadm.Client, topic string) {
	for _, i := range []int{0, 1, 50, 100, 197} {
		found, err := admin.ListOffsetsAfterMilli(ctx, start+int64(i)*1000, topic)
		must(err)
		offset, _ := found.Lookup(topic, int32(i%partitions))
		must(offset.Err)
		check(offset.Offset == int64(i/partitions), "offset by timestamp")
	}
	ends, err := admin.ListEndOffsets(ctx, topic)
	must(err)
	end, _ := ends.Lookup(topic, 0)
	check(end.Offset == 67, "end offset")
}

func manyPartitions(ctx context.Context, admin *kadm.Client, bootstrap, topic string) {
	const count = 60
	_, err := admin.CreateTopic(ctx, count, 1, nil, topic)
	must(err)
	_, err = admin.ListEndOffsets(ctx, topic)
	must(err)
	var sent []*kgo.Record
	expected := make([][]*kgo.Record, count)
	for i := range 3000 {
		record := &kgo.Record{Topic: topic, Partition: int32(i * 7 % count), Value: []byte(fmt.Sprintf("v%d", i))}
		sent = append(sent, record)
		expected[record.Partition] = append(expected[record.Partition], record)
	}
	produce(ctx, bootstrap, sent, kgo.Lz4Compression(), true)
	readBack(ctx, bootstrap, topic, expected, len(sent), kgo.ReadUncommitted())
	fmt.Printf("many partitions: %d records\n", len(sent))
}

func administer(ctx context.Context, admin *kadm.Client, bootstrap, topic string) {
	policy := "compact"
	_, err := admin.CreateTopic(ctx, 2, 1, map[string]*string{"cleanup.policy": &policy}, topic)
	must(err)
	retention := "123456"
	appended := "delete"
	altered, err := admin.AlterTopicConfigs(ctx, []kadm.AlterConfig{
		{Op: kadm.SetConfig, Name: "retention.ms", Value: &retention}, {Op: kadm.AppendConfig, Name: "cleanup.policy", Value: &appended},
	}, topic)
	must(err)
	must(altered[0].Err)
	described, err := admin.DescribeTopicConfigs(ctx, topic)
	must(err)
	for _, config := range described[0].Configs {
		switch config.Key {
		case "retention.ms":
			check(config.MaybeValue() == retention, "retention.ms")
		case "cleanup.policy":
			check(config.MaybeValue() == "compact,delete", "cleanup.policy")
		}
	}
	grown, err := admin.UpdatePartitions(ctx, 5, topic)
	must(err)
	must(grown[topic].Err)
	topics, err := admin.ListTopics(ctx, topic)
	must(err)
	check(len(topics[topic].Partitions) == 5, "partitions after growing")
	_, err = admin.ListEndOffsets(ctx, topic)
	must(err)
	var sent []*kgo.Record
	for i := range 10 {
		sent = append(sent, &kgo.Record{Topic: topic, Partition: 4, Key: []byte("k"), Value: []byte(fmt.Sprintf("v%d", i))})
	}
	produce(ctx, bootstrap, sent, kgo.NoCompression(), true)
	low, err := admin.DeleteRecords(ctx, kadm.Offsets{topic: {4: {Topic: topic, Partition: 4, At: 4}}})
	must(err)
	deleted, _ := low.Lookup(topic, 4)
	must(deleted.Err)
	check(deleted.LowWatermark == 4, "low watermark")
	starts, err := admin.ListStartOffsets(ctx, topic)
	must(err)
	first, _ := starts.Lookup(topic, 4)
	check(first.Offset == 4, "start offset")
	gone, err := admin.DeleteTopic(ctx, topic)
	must(err)
	must(gone.Err)
	fmt.Println("admin: create, describe, alter, grow, delete records, delete")
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func check(condition bool, what string) {
	if !condition {
		panic(what)
	}
}
