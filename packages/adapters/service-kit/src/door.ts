import { hasErrno, toError } from '@kubus/ports';
import { type RequestOptions, get } from 'node:http';
import { type NetConnectOpts, connect } from 'node:net';
import { connect as connectSecurely } from 'node:tls';

/** A service's own request where its clients make theirs; rejects when nothing answers there. */
export type Door = () => Promise<void>;

/** How long an answer may take, in milliseconds. */
const ANSWER_MS = 5_000;

/** Any answer to GET / of a server is one, also a refusal. */
export function httpDoor(place: Pick<RequestOptions, 'host' | 'port' | 'path' | 'socketPath'>): Door {
  return () =>
    new Promise((resolve, reject) => {
      const asked = get({ ...place, agent: false, timeout: ANSWER_MS }, (answer) => {
        answer.resume();
        resolve();
      });
      asked.once('timeout', () => asked.destroy(new Error(`no answer within ${ANSWER_MS / 1000} s`)));
      asked.once('error', reject);
    });
}

/** A server that takes connections, with which nothing else is done. */
export function socketDoor(place: NetConnectOpts): Door {
  return () =>
    new Promise((resolve, reject) => {
      const socket = connect({ ...place, timeout: ANSWER_MS });
      socket.once('connect', () => {
        socket.end();
        resolve();
      });
      socket.once('timeout', () => socket.destroy(new Error(`no connection within ${ANSWER_MS / 1000} s`)));
      socket.on('error', reject);
      socket.resume();
    });
}

/** A server that speaks TLS. One without a certificate yet ends the handshake, which is an answer. */
export function tlsDoor(place: { readonly host: string; readonly port: number }): Door {
  return () =>
    new Promise((resolve, reject) => {
      // Its certificate is not what is in question: nothing is sent.
      const socket = connectSecurely({ ...place, rejectUnauthorized: false, timeout: ANSWER_MS });
      socket.once('secureConnect', () => {
        socket.end();
        resolve();
      });
      socket.once('timeout', () => socket.destroy(new Error(`no handshake within ${ANSWER_MS / 1000} s`)));
      socket.on('error', (error: Error) => {
        if (hasErrno(error, 'ECONNREFUSED', 'ETIMEDOUT') || /within/.test(error.message)) reject(toError(error));
        else resolve();
      });
      socket.resume();
    });
}

/** The address under which a server that listens at `address` is reached on its own machine. */
export function ownAddress(address: string): string {
  if (address === '0.0.0.0') return '127.0.0.1';
  return address === '::' ? '::1' : address;
}
