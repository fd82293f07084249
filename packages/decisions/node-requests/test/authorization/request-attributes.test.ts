import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { authorizationErrorText, forbiddenText, requestAttributes } from '../../src/index.ts';

describe('the attributes of a request', () => {
  test.each([
    ['/pods', ['pods', 'proxy']],
    ['/pods/', ['pods', 'proxy']],
    ['/podsx', ['proxy']],
    ['/runningpods/', ['pods', 'proxy']],
    ['/healthz', ['healthz', 'proxy']],
    ['/healthz/syncloop', ['healthz', 'proxy']],
    ['/configz', ['configz', 'proxy']],
    ['/stats/summary', ['stats']],
    ['/metrics', ['metrics']],
    ['/metrics/cadvisor', ['metrics']],
    ['/logs/messages', ['log']],
    ['/checkpoint/default/web/c', ['checkpoint']],
    ['/statusz', ['statusz']],
    ['/flagz', ['configz']],
    ['/containerLogs/default/web/c', ['proxy']],
    ['/exec/default/web/c', ['proxy']],
    ['/run/default/web/c', ['proxy']],
    ['/debug/pprof/heap', ['proxy']],
    ['/', ['proxy']],
    ['', ['proxy']],
  ])('to %s contain its subresources', (path, subresources) => {
    expect(requestAttributes('GET', path).subresources).toEqual(subresources);
  });

  test.each([
    ['GET', 'get'],
    ['POST', 'create'],
    ['PUT', 'update'],
    ['PATCH', 'patch'],
    ['DELETE', 'delete'],
    ['HEAD', ''],
    ['OPTIONS', ''],
  ])('contain for %s the verb "%s"', (method, verb) => {
    expect(requestAttributes(method, '/pods').verb).toBe(verb);
  });

  test('always contain a subresource, and proxy for an unknown path', () => {
    const known = /^\/(pods|runningpods|healthz|configz|stats|metrics|logs|checkpoint|statusz|flagz)(\/|$)/;
    fc.assert(
      fc.property(fc.webPath(), (path) => {
        const { subresources } = requestAttributes('GET', path);
        expect(subresources.length).toBeGreaterThan(0);
        if (!known.test(path)) expect(subresources).toEqual(['proxy']);
      }),
    );
  });
});

test('the response texts are the reference’s', () => {
  expect(forbiddenText('jane', requestAttributes('GET', '/pods'))).toBe(
    'Forbidden (user=jane, verb=get, resource=nodes, subresource(s)=[pods proxy])\n',
  );
  expect(authorizationErrorText('jane', 'get', 'pods')).toBe(
    'Authorization error (user=jane, verb=get, resource=nodes, subresource=pods)',
  );
});
