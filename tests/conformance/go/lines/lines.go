// Package lines is what the Go programs under test share: options, commands read from standard input, events printed by lines.
// tests/conformance/program.py says how the lines look.
package lines

import (
	"bufio"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Options are the `name=value` words of the command line after the role.
func Options() map[string]string {
	options := map[string]string{}
	for _, word := range os.Args[2:] {
		name, value, _ := strings.Cut(word, "=")
		options[name] = value
	}
	return options
}

// Milliseconds is the option of this name as a duration.
func Milliseconds(options map[string]string, name string) time.Duration {
	return time.Duration(Int(options[name])) * time.Millisecond
}

// Int is a word that has to be a number.
func Int(word string) int64 {
	number, err := strconv.ParseInt(word, 10, 64)
	Must(err)
	return number
}

// Must ends the program on an error.
func Must(err error) {
	if err != nil {
		panic(err)
	}
}

var printing sync.Mutex

// Emit prints one event.
func Emit(kind string, words ...any) {
	line := fmt.Sprintf("%d %s", time.Now().UnixMilli(), kind)
	for _, word := range words {
		line += fmt.Sprintf(" %v", word)
	}
	printing.Lock()
	defer printing.Unlock()
	fmt.Println(line)
}

// Name is an error as one word.
func Name(err error) string {
	return strings.Join(strings.Fields(err.Error()), "_")
}

// Commands gives the lines of standard input, and is closed by `leave` or at the end.
func Commands() <-chan []string {
	commands := make(chan []string)
	go func() {
		defer close(commands)
		for scanner := bufio.NewScanner(os.Stdin); scanner.Scan() && scanner.Text() != "leave"; {
			commands <- strings.Fields(scanner.Text())
		}
	}()
	return commands
}

// Serve executes each command; it prints `done` with what it gives, or `failed`.
func Serve(execute func(command []string) ([]any, error)) {
	for command := range Commands() {
		if words, err := execute(command); err != nil {
			Emit("failed", command[0], Name(err))
		} else {
			Emit("done", append([]any{command[0]}, words...)...)
		}
	}
}

// Owned is what a member owns; each change is an event.
type Owned struct {
	lock       sync.Mutex
	partitions []int32
}

// Add is for assigned partitions.
func (o *Owned) Add(partitions []int32) { o.change(partitions, true) }

// Remove is for revoked or lost ones.
func (o *Owned) Remove(partitions []int32) { o.change(partitions, false) }

func (o *Owned) change(partitions []int32, add bool) {
	o.lock.Lock()
	defer o.lock.Unlock()
	o.partitions = slices.DeleteFunc(o.partitions, func(each int32) bool { return slices.Contains(partitions, each) })
	if add {
		o.partitions = append(o.partitions, partitions...)
	}
	slices.Sort(o.partitions)
	words := make([]string, len(o.partitions))
	for i, each := range o.partitions {
		words[i] = strconv.Itoa(int(each))
	}
	Emit("assigned", strings.Join(words, ","))
}
