// Situations for which franz-go has its fake cluster: run as `mocks SITUATION BOOTSTRAP CONTROL_URL TOPIC`.
// The first difference ends it with exit code 1.
package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

const (
	partitions = 4
	back       = 20 * time.Millisecond
)

type scene struct {
	control   control
	bootstrap []string
	topic     string
	ctx       context.Context
}

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	situations := map[string]func(scene){
		"partition": onePartitionFails, "held": leaderMovesWhileHeld, "shuffle": leadersAreShuffled, "coordinator": coordinatorMoves,
		"node": nodeGoesAndComesBack,
	}
	situations[os.Args[1]](scene{control(os.Args[3]), strings.Split(os.Args[2], ","), os.Args[4], ctx})
	fmt.Println("passed")
}

func (scene scene) client(options ...kgo.Opt) *kgo.Client {
	client, err := kgo.NewClient(append([]kgo.Opt{
		kgo.SeedBrokers(scene.bootstrap...), kgo.DefaultProduceTopic(scene.topic), kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.ProducerLinger(0), kgo.MetadataMinAge(back), kgo.RetryBackoffFn(func(int) time.Duration { return back }),
		kgo.FetchMaxWait(50 * time.Millisecond),
	}, options...)...)
	must(err)
	return client
}

func record(partition int32, value string) *kgo.Record {
	return &kgo.Record{Partition: partition, Value: []byte(value)}
}

// An error for one of the partitions in a request; the other ones are written.
func onePartitionFails(scene scene) {
	fault := scene.control.fault(rule{Keys: []string{"Produce"}, Topic: scene.topic, Partitions: []int32{1}, Error: "INVALID_RECORD"})
	client := scene.client()
	defer client.Close()
	results := client.ProduceSync(scene.ctx, record(0, "kept"), record(1, "lost"))
	for _, result := range results {
		check((result.Err == nil) == (result.Record.Partition == 0), fmt.Sprint(result.Record.Partition, ": ", result.Err))
	}
	check(scene.control.hits(fault) == 1, "the rule acts once")
}

// A request is held; meanwhile the leader moves. The record is written once, by the new leader.
func leaderMovesWhileHeld(scene scene) {
	client := scene.client()
	defer client.Close()
	fault := scene.control.fault(rule{Keys: []string{"Produce"}, Topic: scene.topic, Hold: true})
	written := make(chan error, 1)
	client.Produce(scene.ctx, record(0, "one"), func(_ *kgo.Record, err error) { written <- err })
	scene.control.send("POST", fault+"/wait", "{}", nil)
	scene.control.moveLeader(scene.topic, 0, 2)
	scene.control.send("POST", fault+"/release", "{}", nil)
	must(<-written)
	produced := scene.control.requests("Produce", scene.topic)
	check(len(produced) == 2 && produced[0].Node == 1 && produced[1].Node == 2, fmt.Sprint(produced))
	check(len(produced[0].Errors) == 1 && produced[0].Errors[0] == "NOT_LEADER_OR_FOLLOWER", fmt.Sprint(produced))
	scene.read(1)
}

// All leaders move while a producer writes and a consumer reads: nothing is lost, and nothing is there twice.
func leadersAreShuffled(scene scene) {
	client := scene.client()
	defer client.Close()
	for round := range int32(4) {
		for partition := range int32(partitions) {
			must(client.ProduceSync(scene.ctx, record(partition, fmt.Sprint(round))).FirstErr())
			scene.control.moveLeader(scene.topic, partition, 1+(round+partition)%3)
		}
	}
	scene.read(4 * partitions)
}

// The coordinator of a group moves between two commits.
func coordinatorMoves(scene scene) {
	producer := scene.client()
	defer producer.Close()
	must(producer.ProduceSync(scene.ctx, record(0, "one"), record(0, "two")).FirstErr())
	member := scene.client(kgo.ConsumerGroup(scene.topic), kgo.ConsumeTopics(scene.topic), kgo.DisableAutoCommit())
	defer member.Close()
	var read []*kgo.Record
	for len(read) < 2 {
		fetches := member.PollFetches(scene.ctx)
		must(fetches.Err())
		read = append(read, fetches.Records()...)
	}
	for number, each := range read {
		before := scene.control.leader("__consumer_offsets", 0)
		must(member.CommitRecords(scene.ctx, each))
		if number == 0 {
			scene.control.moveLeader("__consumer_offsets", 0, 1+before%3)
		}
	}
	var group struct {
		Coordinator int32
		Offsets     map[string]map[string]struct{ Committed int64 }
	}
	scene.control.send("GET", "/v1/groups/"+scene.topic, "", &group)
	check(group.Offsets[scene.topic]["0"].Committed == 2, fmt.Sprint(group))
}

// The leader goes in the middle of a producer's life, and comes back later.
func nodeGoesAndComesBack(scene scene) {
	client := scene.client()
	defer client.Close()
	must(client.ProduceSync(scene.ctx, record(0, "one")).FirstErr())
	scene.control.send("PATCH", "/v1/brokers/1", `{"state": "down"}`, nil)
	check(scene.control.leader(scene.topic, 0) != 1, "another broker leads")
	must(client.ProduceSync(scene.ctx, record(0, "two")).FirstErr())
	scene.control.send("PATCH", "/v1/brokers/1", `{"state": "up"}`, nil)
	scene.control.moveLeader(scene.topic, 0, 1)
	must(client.ProduceSync(scene.ctx, record(0, "three")).FirstErr())
	scene.read(3)
}

// Read the topic: it has so many records, each partition in the order of its offsets, without a gap.
func (scene scene) read(count int) {
	consumer := scene.client(kgo.ConsumeTopics(scene.topic), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	defer consumer.Close()
	next := map[int32]int64{}
	for seen := 0; seen < count; {
		fetches := consumer.PollFetches(scene.ctx)
		must(fetches.Err())
		fetches.EachRecord(func(record *kgo.Record) {
			check(record.Offset == next[record.Partition], "offsets without a gap")
			next[record.Partition]++
			seen++
		})
	}
	check(scene.control.records(scene.topic) == int64(count), "no record is there twice")
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
