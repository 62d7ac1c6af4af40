package main

import (
	"context"
	"fmt"
	"strings"

	"broker-lite/conformance/lines"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

func administrator(options map[string]string) {
	client, err := kgo.NewClient(kgo.SeedBrokers(options["bootstrap"]))
	lines.Must(err)
	defer client.Close()
	admin := kadm.NewClient(client)
	lines.Serve(func(command []string) ([]any, error) { return administer(context.Background(), admin, command) })
}

func administer(ctx context.Context, admin *kadm.Client, command []string) (words []any, err error) {
	switch command[0] {
	case "list":
		listed, err := admin.ListGroups(ctx)
		for _, group := range listed.Groups() {
			words = append(words, group)
		}
		return words, err
	case "state":
		described, err := admin.DescribeGroups(ctx, command[1])
		if err == nil {
			err = described.Error()
		}
		group := described[command[1]]
		return []any{strings.ToLower(group.State), len(group.Members)}, err
	case "offsets":
		found, err := admin.FetchOffsets(ctx, command[1])
		found.Each(func(each kadm.OffsetResponse) { words = append(words, fmt.Sprintf("%d:%d", each.Partition, each.At)) })
		return words, err
	case "alter":
		position := kadm.Offsets{}
		position.AddOffset(command[2], int32(lines.Int(command[3])), lines.Int(command[4]), -1)
		return nil, admin.CommitAllOffsets(ctx, command[1], position)
	case "forget":
		where := kadm.TopicsSet{}
		where.Add(command[2], int32(lines.Int(command[3])))
		deleted, err := admin.DeleteOffsets(ctx, command[1], where)
		if err == nil {
			err = deleted.Error()
		}
		return nil, err
	case "delete":
		deleted, err := admin.DeleteGroup(ctx, command[1])
		if err == nil {
			err = deleted.Err
		}
		return nil, err
	}
	return nil, fmt.Errorf("no command %s", command[0])
}
