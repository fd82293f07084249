/*
 * Buffers and the frames of the protocol (../README.md). A part of kubus-cni.c, which has `fail`.
 */
#ifndef FRAME_H
#define FRAME_H

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define MAGIC "KCN\001"
#define HEADER 8
#define FIELD_HEADER 5
#define LIMIT (4u << 20)

struct bytes {
	char *data;
	size_t length, room;
};

/* One field of a frame; its data lie in the frame. */
struct field {
	char tag;
	char *data;
	size_t length;
};

/* Behind the data there is always room for one byte more. */
static void append(struct bytes *to, const void *data, size_t length)
{
	if (length > LIMIT || to->length + length > LIMIT)
		fail(IO_FAILURE, "kubus-cni: the call is larger than %u bytes", LIMIT);
	if (to->length + length >= to->room) {
		to->room = (to->length + length + 1) * 2;
		if (!(to->data = realloc(to->data, to->room)))
			fail(IO_FAILURE, "kubus-cni: out of memory");
	}
	if (length)
		memcpy(to->data + to->length, data, length);
	to->length += length;
}

static void put32(unsigned char *at, uint32_t value)
{
	at[0] = value >> 24, at[1] = value >> 16, at[2] = value >> 8, at[3] = value;
}

static uint32_t get32(const char *data)
{
	const unsigned char *at = (const unsigned char *)data;
	return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

static void append_field(struct bytes *to, char tag, const void *data, size_t length)
{
	unsigned char header[FIELD_HEADER] = { (unsigned char)tag };
	put32(header + 1, (uint32_t)length);
	append(to, header, sizeof header);
	append(to, data, length);
}

/* Puts a text behind the others in a list that a NULL ends. */
static void append_text(struct bytes *list, char *text)
{
	char *entries[] = { text, NULL };
	list->length -= list->length ? sizeof *entries : 0;
	append(list, entries, sizeof entries);
}

/* Takes the field at *at and moves on; false at the end, and where the frame is broken (*at is not its end then). */
static int next_field(const struct bytes *frame, size_t *at, struct field *field)
{
	size_t left = frame->length - *at;
	if (left < FIELD_HEADER || get32(frame->data + *at + 1) > left - FIELD_HEADER)
		return 0;
	*field = (struct field){ frame->data[*at], frame->data + *at + FIELD_HEADER, get32(frame->data + *at + 1) };
	*at += FIELD_HEADER + field->length;
	return 1;
}

#endif
