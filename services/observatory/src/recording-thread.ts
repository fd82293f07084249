import { parentPort } from 'node:worker_threads';
import { perform, tracePieces } from './tasks.ts';
import { type Question, type Reply, failureOf } from './thread-messages.ts';

/** The program of a thread that reads recordings: it answers one question after another. */
const port = parentPort;
const streams = new Map<number, Generator<string>>();
const encoder = new TextEncoder();

port?.on('message', (question: Question) => {
  const reply = replyTo(question);
  port.postMessage(reply, 'text' in reply ? [reply.text.buffer] : []);
});

function replyTo(question: Question): Reply {
  try {
    return { text: encoder.encode(textFor(question)) };
  } catch (error) {
    return { failure: failureOf(error) };
  }
}

/** Empty when there is nothing to answer: a stream at its end. */
function textFor(question: Question): string {
  switch (question.do) {
    case 'open':
      streams.set(question.stream, tracePieces(question.trace));
      return '';
    case 'next': {
      const piece = streams.get(question.stream)?.next();
      return piece?.done === false ? piece.value : '';
    }
    case 'end':
      streams.get(question.stream)?.return(undefined);
      streams.delete(question.stream);
      return '';
    default:
      return JSON.stringify(perform(question));
  }
}
