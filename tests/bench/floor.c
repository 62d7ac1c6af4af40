/* The floor: what the system calls of Produce and Fetch cost, without anything around them.

       floor produce FILE BATCH_BYTES BEHIND_BYTES     appends the batch of each request to the file
       floor fetch FILE ANSWER_BYTES                   answers each request with the next range

   Standard input is a listening socket. One client is served after the other, and each begins the
   file anew. Requests are framed as Kafka's are and not decoded: a batch has the given size and
   ends BEHIND_BYTES before the end of its frame. A batch is checked (CRC-32C), gets its offset, and
   is written. Answers have about the size of Kafka's, and their correlation id; those of Produce
   requests that came together leave together. */

#define _GNU_SOURCE
#include <endian.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/vfs.h>
#include <unistd.h>

enum {
    BUFFER_BYTES = 4 << 20,
    READ_AHEAD_BYTES = 128 << 10, /* of a larger frame, only what is missing is received */
    PRODUCE_ANSWER_BYTES = 59,
    FETCH_HEAD_BYTES = 72,
    FETCH_TAIL_BYTES = 3,
    SHORT_BYTES = 32 << 10,
    SEND_BUFFER_BYTES = 1 << 20,
    RESERVED_BYTES = 4 << 20,
    CRC_POSITION = 17,
    CRC_FROM = 21,
    LANE_BYTES = 1 << 12,
};

static uint8_t buffer[BUFFER_BYTES];
static uint8_t answers[BUFFER_BYTES / 8];

static void fail(const char *what) {
    perror(what);
    exit(1);
}

/* CRC-32C, eight bytes an instruction where the processor has one. */
#if defined(__x86_64__)
#include <nmmintrin.h>
#define HARDWARE __attribute__((target("sse4.2")))
#define STEP(crc, word) ((uint32_t)_mm_crc32_u64(crc, word))
#elif defined(__aarch64__)
#include <arm_acle.h>
#define HARDWARE __attribute__((target("+crc")))
#define STEP(crc, word) __crc32cd(crc, word)
#else
#error "this processor has no instruction for CRC-32C that is known here"
#endif

static uint32_t crc_table[256];
static uint32_t lane_shift; /* x^(8 * LANE_BYTES), which moves a checksum over a lane of zeros */

/* Multiply two polynomials modulo that of CRC-32C; the highest bit is x^0. */
static uint32_t multiply(uint32_t a, uint32_t b) {
    uint32_t product = 0;
    for (uint32_t bit = 1u << 31; bit; bit >>= 1) {
        if (a & bit)
            product ^= b;
        b = b & 1 ? (b >> 1) ^ 0x82f63b78 : b >> 1;
    }
    return product;
}

static void prepare_crc(void) {
    for (uint32_t byte = 0; byte < 256; byte++) {
        uint32_t crc = byte;
        for (int bit = 0; bit < 8; bit++)
            crc = crc & 1 ? (crc >> 1) ^ 0x82f63b78 : crc >> 1;
        crc_table[byte] = crc;
    }
    lane_shift = 1u << 31;
    for (int byte = 0; byte < LANE_BYTES; byte++)
        lane_shift = multiply(lane_shift, 1u << 23);
}

static uint64_t word_at(const uint8_t *data) {
    uint64_t word;
    memcpy(&word, data, sizeof word);
    return word;
}

/* An instruction waits for the one before it, so three lanes at once are three times as fast. */
HARDWARE static uint32_t crc32c(const uint8_t *data, size_t size) {
    uint32_t crc = 0xffffffff;
    for (; size >= 3 * LANE_BYTES; data += 3 * LANE_BYTES, size -= 3 * LANE_BYTES) {
        uint32_t second = 0, third = 0;
        for (size_t at = 0; at < LANE_BYTES; at += 8) {
            crc = STEP(crc, word_at(data + at));
            second = STEP(second, word_at(data + at + LANE_BYTES));
            third = STEP(third, word_at(data + at + 2 * LANE_BYTES));
        }
        crc = multiply(multiply(crc, lane_shift) ^ second, lane_shift) ^ third;
    }
    for (; size >= 8; data += 8, size -= 8)
        crc = STEP(crc, word_at(data));
    for (; size; data++, size--)
        crc = crc_table[(crc ^ *data) & 255] ^ (crc >> 8);
    return ~crc;
}

/* Offsets and sizes are in network order. */
static uint32_t number_at(const uint8_t *data) {
    uint32_t value;
    memcpy(&value, data, sizeof value);
    return be32toh(value);
}

static void put_number(uint8_t *data, uint32_t value) {
    value = htobe32(value);
    memcpy(data, &value, sizeof value);
}

static void put_head(uint8_t *answer, uint32_t size, const uint8_t *frame) {
    put_number(answer, size - 4);
    memcpy(answer + 4, frame + 8, 4); /* the correlation id */
}

static void send_all(int client, const uint8_t *data, size_t size, int flags) {
    while (size) {
        ssize_t sent = send(client, data, size, flags);
        if (sent < 0)
            fail("send");
        data += sent, size -= sent;
    }
}

/* On a disk space is reserved ahead: a write of 16 KB then takes a third less. */
static void append(int file, uint8_t *batch, size_t size, off_t end) {
    static struct statfs status;
    if (!end && fstatfs(file, &status) < 0)
        fail("fstatfs");
    if (status.f_type != TMPFS_MAGIC && (end % RESERVED_BYTES + (off_t)size > RESERVED_BYTES || !end))
        (void)!fallocate(file, FALLOC_FL_KEEP_SIZE, end, RESERVED_BYTES + size);
    if (number_at(batch + CRC_POSITION) != crc32c(batch + CRC_FROM, size - CRC_FROM))
        fail("wrong checksum");
    put_number(batch + 4, (uint32_t)(end / size)); /* the low half of the base offset */
    if (pwrite(file, batch, size, end) != (ssize_t)size)
        fail("pwrite");
}

/* Copying a short range is cheaper than the two more calls that sendfile needs. */
static void send_range(int client, const uint8_t *frame, int file, off_t from, size_t size) {
    static uint8_t head[FETCH_HEAD_BYTES + SHORT_BYTES + FETCH_TAIL_BYTES], tail[FETCH_TAIL_BYTES];
    put_head(head, FETCH_HEAD_BYTES + size + FETCH_TAIL_BYTES, frame);
    if (size <= SHORT_BYTES) {
        if (pread(file, head + FETCH_HEAD_BYTES, size, from) != (ssize_t)size)
            fail("pread");
        send_all(client, head, FETCH_HEAD_BYTES + size + FETCH_TAIL_BYTES, 0);
        return;
    }
    send_all(client, head, FETCH_HEAD_BYTES, MSG_MORE);
    while (size) {
        ssize_t sent = sendfile(client, file, &from, size);
        if (sent <= 0)
            fail("sendfile");
        size -= sent;
    }
    send_all(client, tail, FETCH_TAIL_BYTES, 0);
}

static void serve(int client, int file, size_t part_bytes, int behind_bytes, off_t file_bytes) {
    int poll = epoll_create1(0);
    struct epoll_event event = {.events = EPOLLIN};
    if (epoll_ctl(poll, EPOLL_CTL_ADD, client, &event) < 0)
        fail("epoll_ctl");
    size_t filled = 0, frame_bytes = 0;
    off_t position = 0;
    while (epoll_wait(poll, &event, 1, -1) == 1) {
        size_t room = frame_bytes > filled + READ_AHEAD_BYTES ? frame_bytes - filled : READ_AHEAD_BYTES;
        ssize_t received = recv(client, buffer + filled, room, 0);
        if (received <= 0)
            break;
        filled += received;
        size_t start = 0, answered = 0;
        for (frame_bytes = 0; filled - start >= 4; start += frame_bytes) {
            uint8_t *frame = buffer + start;
            frame_bytes = number_at(frame) + 4;
            if (frame_bytes > BUFFER_BYTES - READ_AHEAD_BYTES)
                fail("large frame");
            if (filled - start < frame_bytes)
                break;
            if (file_bytes) {
                send_range(client, frame, file, position, part_bytes);
                position += part_bytes;
                if (position + (off_t)part_bytes > file_bytes)
                    position = 0;
            } else {
                append(file, frame + frame_bytes - behind_bytes - part_bytes, part_bytes, position);
                position += part_bytes;
                put_head(answers + answered, PRODUCE_ANSWER_BYTES, frame);
                answered += PRODUCE_ANSWER_BYTES;
            }
        }
        if (answered)
            send_all(client, answers, answered, 0);
        filled -= start;
        if (start && filled)
            memmove(buffer, buffer + start, filled);
    }
    close(poll);
}

int main(int count, char **words) {
    int fetches = count == 4 && !strcmp(words[1], "fetch");
    if (!fetches && !(count == 5 && !strcmp(words[1], "produce"))) {
        fputs("floor produce FILE BATCH_BYTES BEHIND_BYTES, or floor fetch FILE ANSWER_BYTES\n", stderr);
        return 2;
    }
    prepare_crc();
    int file = open(words[2], fetches ? O_RDONLY : O_RDWR | O_CREAT, 0600);
    if (file < 0)
        fail(words[2]);
    off_t file_bytes = fetches ? lseek(file, 0, SEEK_END) : 0;
    for (;;) {
        int client = accept(STDIN_FILENO, NULL, NULL), on = 1, room = SEND_BUFFER_BYTES;
        if (client < 0)
            fail("accept");
        setsockopt(client, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        setsockopt(client, SOL_SOCKET, SO_SNDBUF, &room, sizeof room);
        if (!fetches && ftruncate(file, 0) < 0)
            fail("ftruncate");
        serve(client, file, atol(words[3]), fetches ? 0 : atoi(words[4]), file_bytes);
        close(client);
    }
}
