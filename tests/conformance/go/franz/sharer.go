package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"broker-lite/conformance/lines"

	"github.com/twmb/franz-go/pkg/kgo"
)

const (
	fetchWait  = 100 * time.Millisecond // how long the broker waits for records; the end of a session waits behind it
	commitWait = 15 * time.Second
)

var ackStatuses = map[string]kgo.AckStatus{
	"accept": kgo.AckAccept, "release": kgo.AckRelease, "reject": kgo.AckReject, "renew": kgo.AckRenew,
}

// sharing is a member of a share group: the records that it may still say something of, and why the broker refused what it said.
type sharing struct {
	client     *kgo.Client
	isImplicit bool
	held       map[string]*kgo.Record
	lock       sync.Mutex
	refusal    error
}

func sharer(options map[string]string) {
	member := &sharing{isImplicit: options["mode"] == "implicit", held: map[string]*kgo.Record{}}
	settings := []kgo.Opt{
		kgo.SeedBrokers(strings.Split(options["bootstrap"], ",")...), kgo.ShareGroup(options["group"]), kgo.ConsumeTopics(options["topic"]),
		kgo.MetadataMinAge(metadataAge), kgo.FetchMaxWait(fetchWait), kgo.ShareAckCallback(member.answered),
	}
	if most, given := options["max"]; given {
		settings = append(settings, kgo.ShareMaxRecords(int32(lines.Int(most))), kgo.ShareMaxRecordsStrict())
	}
	client, err := kgo.NewClient(settings...)
	lines.Must(err)
	defer client.Close()
	member.client = client
	lines.Serve(member.execute)
}

func (s *sharing) execute(command []string) ([]any, error) {
	switch command[0] {
	case "take":
		return s.take(time.Duration(lines.Int(command[1])) * time.Millisecond)
	case "say":
		return nil, s.say(ackStatuses[command[1]], command[2:])
	case "commit":
		return nil, s.commit()
	}
	return nil, fmt.Errorf("no command %s", command[0])
}

// take polls once; the library accepts what nothing was said of since the poll before.
func (s *sharing) take(wait time.Duration) ([]any, error) {
	ctx, cancel := context.WithTimeout(context.Background(), wait)
	defer cancel()
	clear(s.held)
	fetches := s.client.PollFetches(ctx)
	for _, failed := range fetches.Errors() {
		if !errors.Is(failed.Err, context.DeadlineExceeded) {
			return nil, failed.Err
		}
	}
	fetches.EachRecord(func(record *kgo.Record) {
		s.held[string(record.Value)] = record
		lines.Emit("got", record.Partition, record.Offset, string(record.Value), record.DeliveryCount())
	})
	return []any{len(s.held)}, nil
}

func (s *sharing) say(status kgo.AckStatus, values []string) error {
	for _, value := range values {
		record, held := s.held[value]
		if !held {
			return fmt.Errorf("no record %s", value)
		}
		record.Ack(status)
	}
	return nil
}

func (s *sharing) commit() error {
	if s.isImplicit {
		s.client.MarkAcks(kgo.AckAccept)
	}
	ctx, cancel := context.WithTimeout(context.Background(), commitWait)
	defer cancel()
	if err := s.client.FlushAcks(ctx); err != nil {
		return err
	}
	s.lock.Lock()
	defer s.lock.Unlock()
	refusal := s.refusal
	s.refusal = nil
	return refusal
}

// answered is called before FlushAcks returns.
func (s *sharing) answered(_ *kgo.Client, results kgo.ShareAckResults) {
	s.lock.Lock()
	defer s.lock.Unlock()
	if err := results.Error(); err != nil && s.refusal == nil {
		s.refusal = err
	}
}
