import { describe, expect, test } from '@jest/globals';
import {
  type CredentialProvider,
  cacheKeys,
  isFor,
  pluginRequest,
  readPluginAnswer,
  readProviders,
  wantedAnnotations,
} from '../../src/index.ts';

const apiVersion = 'credentialprovider.kubelet.k8s.io/v1';
const provider = { name: 'ecr', matchImages: ['*.ecr.io', 'r.io/team'], defaultCacheDuration: '12h', apiVersion };
const tokens = {
  serviceAccountTokenAudience: 'registry',
  cacheType: 'ServiceAccount',
  requireServiceAccount: true,
  requiredServiceAccountAnnotationKeys: ['a/b'],
};
const config = (...providers: object[]) => ({
  apiVersion: 'kubelet.config.k8s.io/v1',
  kind: 'CredentialProviderConfig',
  providers,
});
const read = (...documents: unknown[]) =>
  readProviders(new Map(documents.map((document, index) => [`${index}.yaml`, document])));
const ecr = read(config(provider))[0] as CredentialProvider;

describe('the configuration of credential providers', () => {
  test('lists the providers of all files, in order', () => {
    const other = {
      ...provider,
      name: 'gcr',
      args: ['-v'],
      env: [{ name: 'A', value: 'b' }],
      defaultCacheDuration: '0s',
    };
    expect(read(config(provider), config(other))).toEqual([
      { ...provider, defaultCacheDuration: 43_200_000, args: [], env: [] },
      { ...other, defaultCacheDuration: 0 },
    ]);
  });

  test.each<[object, string]>([
    [{ name: 'a/b' }, '0.yaml: providers.0.name'],
    [{ name: '..' }, '0.yaml: providers.0.name'],
    [{ matchImages: [] }, '0.yaml: providers.0.matchImages'],
    [{ apiVersion: 'v1' }, '0.yaml: providers.0.apiVersion'],
    [{ defaultCacheDuration: '1 day' }, '0.yaml: providers.0.defaultCacheDuration'],
    [{ defaultCacheDuration: '-1h' }, '0.yaml: providers.0.defaultCacheDuration'],
    [{ defaultCacheDuration: undefined }, '0.yaml: providers.0.defaultCacheDuration'],
    [{ tokenAttributes: {} }, 'tokenAttributes.serviceAccountTokenAudience'],
    [{ tokenAttributes: { ...tokens, cacheType: 'Pod' } }, 'tokenAttributes.cacheType'],
    [{ tokenAttributes: { ...tokens, requireServiceAccount: undefined } }, 'tokenAttributes.requireServiceAccount'],
    [{ tokenAttributes: { ...tokens, requireServiceAccount: false } }, 'tokenAttributes.requiredServiceAccountAnnot'],
    [{ tokenAttributes: { ...tokens, optionalServiceAccountAnnotationKeys: ['a/b'] } }, 'both required and optional'],
    [{ tokenAttributes: { ...tokens, optionalServiceAccountAnnotationKeys: ['c', 'c'] } }, 'must name each key once'],
    [{ tokenAttributes: { ...tokens, optionalServiceAccountAnnotationKeys: ['a/b/c'] } }, 'is not an annotation key'],
    [{ tokenAttributes: tokens, apiVersion: apiVersion.replace('v1', 'v1beta1') }, 'is supported by'],
  ])('with %j is refused with an error that names the file and the field', (change, text) => {
    expect(() => read(config({ ...provider, ...change }))).toThrow(text);
  });

  test('with two providers of the same name is refused', () => {
    expect(() => read(config(provider), config(provider))).toThrow('1.yaml: there are two providers named ecr');
  });

  test('without a provider is refused', () => expect(() => read(config())).toThrow('0.yaml: providers'));
});

describe('a credential provider plugin', () => {
  test('is called for the images that it matches', () => {
    expect(isFor(ecr, 'eu.ecr.io/a')).toBe(true);
    expect(isFor(ecr, 'r.io/other')).toBe(false);
    expect(JSON.parse(pluginRequest(ecr, 'eu.ecr.io/a'))).toEqual({
      kind: 'CredentialProviderRequest',
      apiVersion,
      image: 'eu.ecr.io/a',
    });
  });

  const answer = (change: object = {}) => ({
    kind: 'CredentialProviderResponse',
    apiVersion,
    cacheKeyType: 'Registry',
    cacheDuration: '1h30m',
    auth: { '*.ecr.io': { username: 'u', password: 'secret' } },
    ...change,
  });
  const take = (change: object) => readPluginAnswer(ecr, 'eu.ecr.io/a/b', JSON.stringify(answer(change)));

  test.each<[object, string, number]>([
    [{}, 'eu.ecr.io', 5_400_000],
    [{ cacheKeyType: 'Image' }, 'eu.ecr.io/a/b', 5_400_000],
    [{ cacheKeyType: 'Global', cacheDuration: undefined }, '<global>', 43_200_000],
    [{ cacheDuration: '0' }, 'eu.ecr.io', 0],
  ])('that answers with %j is cached under %s for %i ms', (change, cacheKey, keepMs) => {
    expect(take(change)).toEqual({
      config: new Map([['*.ecr.io', { username: 'u', password: 'secret' }]]),
      cacheKey,
      keepMs,
    });
    expect(cacheKeys('eu.ecr.io/a/b')).toContain(cacheKey);
  });

  test('may answer without any login', () => expect(take({ auth: null }).config.size).toBe(0));

  test.each<[object]>([
    [{ kind: 'Other' }],
    [{ apiVersion: 'credentialprovider.kubelet.k8s.io/v1beta1' }],
    [{ cacheKeyType: 'Pod' }],
    [{ cacheDuration: 'soon' }],
    [{ cacheDuration: '-1h' }],
    [{ auth: { r: { username: 'u', password: 7 } } }],
  ])('that answers with %j causes an error that does not quote the answer', (change) => {
    expect(() => take(change)).toThrow(/^the answer of credential provider ecr /);
    expect(() => take(change)).not.toThrow(/secret/);
  });

  const bearer = { token: 'secret-token', annotations: { 'a/b': '1' } };

  test('that requires tokens receives the pod’s token with the required annotations', () => {
    expect(JSON.parse(pluginRequest(ecr, 'eu.ecr.io/a', bearer))).toMatchObject({
      serviceAccountToken: 'secret-token',
      serviceAccountAnnotations: { 'a/b': '1' },
    });
    const wanted = { requiredServiceAccountAnnotationKeys: ['a/b'], optionalServiceAccountAnnotationKeys: ['c', 'd'] };
    expect(wantedAnnotations(wanted, { 'a/b': '1', c: '2', other: '3' })).toEqual({ 'a/b': '1', c: '2' });
    expect(wantedAnnotations(wanted, { c: '2' })).toBeUndefined();
  });

  test.each([
    ['Token', false],
    ['ServiceAccount', true],
  ])('that answers with the token itself with the cache type %s is refused: %s', (cacheType, refused) => {
    const [made] = read(config({ ...provider, tokenAttributes: { ...tokens, cacheType } }));
    const text = JSON.stringify(answer({ auth: { r: { username: 'u', password: bearer.token } } }));
    const take = () => readPluginAnswer(made as CredentialProvider, 'eu.ecr.io/a', text, bearer);
    if (refused) expect(take).toThrow('requires the cacheType Token');
    else expect(take().config.size).toBe(1);
  });
});
