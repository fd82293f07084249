import { describe, expect, test } from '@jest/globals';
import {
  ProbeErrored,
  attemptEvent,
  erroredEvent,
  execTimedOut,
  httpFailure,
  judgeExec,
  judgeGrpc,
  judgeHttp,
} from '../src/index.ts';

describe('the result of an attempt', () => {
  test.each([
    [101, 'failure', 'HTTP probe failed with statuscode: 101'],
    [199, 'failure', 'HTTP probe failed with statuscode: 199'],
    [200, 'success', 'body'],
    [299, 'success', 'body'],
    [300, 'warning', 'Probe terminated redirects, Response body: body'],
    [399, 'warning', 'Probe terminated redirects, Response body: body'],
    [400, 'failure', 'HTTP probe failed with statuscode: 400'],
    [500, 'failure', 'HTTP probe failed with statuscode: 500'],
  ])('for the HTTP status %i', (status, result, output) => {
    expect(judgeHttp(status, 'body')).toEqual({ result, output });
  });

  test.each([
    [0, 'success'],
    [1, 'failure'],
    [-1, 'failure'],
  ])('for a command that ends with %i', (code, result) => {
    expect(judgeExec(code, 'said')).toEqual({ result, output: 'said' });
  });

  test.each([
    [{ kind: 'answered', status: 1 }, 'success', 'service healthy'],
    [{ kind: 'answered', status: 0 }, 'failure', 'service unhealthy (responded with "UNKNOWN")'],
    [{ kind: 'answered', status: 2 }, 'failure', 'service unhealthy (responded with "NOT_SERVING")'],
    [{ kind: 'answered', status: 3 }, 'failure', 'service unhealthy (responded with "SERVICE_UNKNOWN")'],
    [{ kind: 'answered', status: 7 }, 'failure', 'service unhealthy (responded with "7")'],
    [
      { kind: 'not connected' },
      'failure',
      'timeout: failed to connect service "10.0.0.2:50" within 1m5s: context deadline exceeded',
    ],
    [{ kind: 'not answered' }, 'failure', 'timeout: health rpc did not complete within 1m5s'],
    [
      { kind: 'failed', code: 'Unimplemented', message: 'unknown service' },
      'failure',
      'error: this server does not implement the grpc health protocol (grpc.health.v1.Health): unknown service',
    ],
    [
      { kind: 'failed', code: 'Unavailable', message: 'gone' },
      'failure',
      'error: health rpc probe failed: rpc error: code = Unavailable desc = gone',
    ],
  ] as const)('for the health check %j', (answer, result, output) => {
    expect(judgeGrpc(answer, '10.0.0.2:50', 65_000)).toEqual({ result, output });
  });
});

describe('the texts of events', () => {
  test.each([
    [
      attemptEvent('liveness', judgeHttp(503, 'x')),
      'Unhealthy',
      'Liveness probe failed: HTTP probe failed with statuscode: 503',
    ],
    [
      attemptEvent('readiness', httpFailure('http://10.0.0.2:80/', 'EOF')),
      'Unhealthy',
      'Readiness probe failed: Get "http://10.0.0.2:80/": EOF',
    ],
    [
      attemptEvent('startup', execTimedOut(['sleep', '"10"'], 1000)),
      'Unhealthy',
      'Startup probe failed: command timed out: "sleep \\"10\\"" timed out after 1s',
    ],
    [
      attemptEvent('liveness', judgeHttp(302, 'moved')),
      'ProbeWarning',
      'Liveness probe warning: Probe terminated redirects, Response body: moved',
    ],
    [
      erroredEvent('liveness', new ProbeErrored('unknown', 'invalid port number: 0')),
      'Unhealthy',
      'Liveness probe errored and resulted in unknown state: invalid port number: 0',
    ],
  ])('are the reference’s: case %#', (event, reason, message) => expect(event).toEqual({ reason, message }));

  test('do not exist for a success', () => {
    expect(attemptEvent('liveness', judgeHttp(200, 'ok'))).toBeUndefined();
  });
});
