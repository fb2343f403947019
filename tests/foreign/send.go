// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause

// Sends by Go's runtime: send write|sendfile|zerocopy ADDRESS CONNECTIONS SENDS BYTES FILE.
// Each connection has a goroutine. Prints the goroutines' counts as JSON.
package main

import (
	"encoding/binary"
	"encoding/json"
	"io"
	"log"
	"net"
	"os"
	"strconv"
	"sync"
	"syscall"
	"unsafe"
)

const (
	msgZerocopy = 0x4000000
	soZerocopy  = 60
	pollErr     = 0x8
	inFlight    = 64
)

// counts of one connection: calls that the kernel accepted, calls that found no room, and
// zero-copy sends that the error queue reported.
type counts struct {
	Sends       int `json:"sends"`
	Again       int `json:"again"`
	Bytes       int `json:"bytes"`
	Completions int `json:"completions"`
	Copied      int `json:"copied"`
}

func (c *counts) add(other counts) {
	c.Sends += other.Sends
	c.Again += other.Again
	c.Bytes += other.Bytes
	c.Completions += other.Completions
	c.Copied += other.Copied
}

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

// sendPart returns how much of data the kernel accepted. A completion that waits in the error
// queue does not wake a goroutine that waits for room.
func (c *counts) sendPart(raw syscall.RawConn, data []byte) int {
	var n int
	var failed error
	must(raw.Write(func(fd uintptr) bool {
		n, failed = syscall.SendmsgN(int(fd), data, nil, nil, msgZerocopy)
		if failed == syscall.EAGAIN {
			c.Again++
			return false
		}
		return true
	}))
	must(failed)
	c.Sends++
	c.Bytes += n
	return n
}

// waitForError blocks its thread: Go's poller cannot wait for an error alone.
func waitForError(fd uintptr) {
	waiting := struct {
		fd              int32
		events, revents int16
	}{fd: int32(fd)}
	for waiting.revents&pollErr == 0 {
		_, _, errno := syscall.Syscall6(syscall.SYS_PPOLL, uintptr(unsafe.Pointer(&waiting)),
			1, 0, 0, 0, 0)
		if errno != 0 && errno != syscall.EINTR {
			log.Fatal(errno)
		}
	}
}

// readNotification reads one notification: a range of sends, and whether it was copied.
func (c *counts) readNotification(raw syscall.RawConn) {
	var control [128]byte
	must(raw.Control(func(fd uintptr) {
		waitForError(fd)
		_, n, _, _, err := syscall.Recvmsg(int(fd), nil, control[:], syscall.MSG_ERRQUEUE)
		must(err)
		messages, err := syscall.ParseSocketControlMessage(control[:n])
		must(err)
		for _, message := range messages {
			word := binary.LittleEndian.Uint32
			first, last := word(message.Data[8:]), word(message.Data[12:])
			c.Completions += int(last-first) + 1
			c.Copied += (int(last-first) + 1) * int(message.Data[6])
		}
	}))
}

func (c *counts) zerocopy(conn *net.TCPConn, sends int, data []byte) {
	raw, err := conn.SyscallConn()
	must(err)
	must(raw.Control(func(fd uintptr) {
		must(syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, soZerocopy, 1))
	}))
	for ; sends > 0; sends-- {
		for rest := data; len(rest) > 0; {
			rest = rest[c.sendPart(raw, rest):]
		}
		for c.Sends-c.Completions >= inFlight {
			c.readNotification(raw)
		}
	}
	for c.Completions < c.Sends {
		c.readNotification(raw)
	}
}

func (c *counts) write(conn *net.TCPConn, sends int, data []byte) {
	for ; sends > 0; sends-- {
		n, err := conn.Write(data)
		must(err)
		c.Sends++
		c.Bytes += n
	}
}

// sendfile is what io.Copy from a file to a connection does.
func (c *counts) sendfile(conn *net.TCPConn, sends int, name string) {
	file, err := os.Open(name)
	must(err)
	defer file.Close()
	for ; sends > 0; sends-- {
		_, err = file.Seek(0, io.SeekStart)
		must(err)
		n, err := io.Copy(conn, file)
		must(err)
		c.Bytes += int(n)
	}
}

func number(text string) int {
	n, err := strconv.Atoi(text)
	must(err)
	return n
}

func main() {
	mode, address := os.Args[1], os.Args[2]
	connections, sends, data := number(os.Args[3]), number(os.Args[4]), make([]byte, number(os.Args[5]))
	var total counts
	var lock sync.Mutex
	var all sync.WaitGroup
	for ; connections > 0; connections-- {
		all.Add(1)
		go func() {
			defer all.Done()
			conn, err := net.Dial("tcp", address)
			must(err)
			var own counts
			switch mode {
			case "write":
				own.write(conn.(*net.TCPConn), sends, data)
			case "sendfile":
				own.sendfile(conn.(*net.TCPConn), sends, os.Args[6])
			case "zerocopy":
				own.zerocopy(conn.(*net.TCPConn), sends, data)
			}
			must(conn.Close())
			lock.Lock()
			total.add(own)
			lock.Unlock()
		}()
	}
	all.Wait()
	must(json.NewEncoder(os.Stdout).Encode(total))
}
