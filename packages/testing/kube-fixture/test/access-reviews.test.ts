import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { asList, asObject, at } from '@kubus/kube-objects';
import { type Json, type JsonObject, nodeUser } from '../src/index.ts';
import { JudgedCluster, refused } from './judged-cluster.ts';

let judged: JudgedCluster;
beforeAll(async () => {
  judged = await JudgedCluster.open();
});
afterAll(() => judged.close());

const GROUP = '/apis/authorization.k8s.io/v1';
const ask = (kind: string, spec: JsonObject, headers: Record<string, string> = {}, within = '') =>
  judged.cluster.raw('POST', `${GROUP}${within}/${kind.toLowerCase()}s`, {
    body: { apiVersion: 'authorization.k8s.io/v1', kind, spec },
    headers,
  });
const status = async (...args: Parameters<typeof ask>) => asObject((await ask(...args)).body['status']);
const account = (name: string) => `system:serviceaccount:${judged.namespace}:${name}`;

describe('whether a user may do something', () => {
  const nodes = { user: 'system:node:n', groups: ['system:nodes', 'system:authenticated'] };
  const list = (more: JsonObject = {}) => ({ verb: 'list', resource: 'pods', ...more });

  test('depends on the fields that a request is for', async () => {
    const named = (resourceAttributes: JsonObject) => status('SubjectAccessReview', { ...nodes, resourceAttributes });
    const only = 'can only list/watch pods with spec.nodeName field selector';
    expect(await named(list())).toMatchObject({ allowed: false, reason: only });
    expect(await named(list({ fieldSelector: { rawSelector: 'spec.nodeName=n' } }))).toEqual({ allowed: true });
    expect(await named(list({ fieldSelector: { rawSelector: 'spec.nodeName=m' } }))).toMatchObject({ allowed: false });
    const one = { key: 'spec.nodeName', operator: 'In', values: ['n'] };
    expect(await named(list({ fieldSelector: { requirements: [one] } }))).toEqual({ allowed: true });
    const other = { key: 'status.phase', operator: 'Exists' };
    expect(await named(list({ fieldSelector: { requirements: [one, other] } }))).toEqual({
      allowed: true,
      evaluationError: 'spec.resourceAttributes.fieldSelector partially ignored due to parse error',
    });
    expect(await named(list({ labelSelector: { rawSelector: 'a in' } }))).toEqual({
      allowed: false,
      reason: only,
      evaluationError: 'spec.resourceAttributes.labelSelector ignored due to parse error',
    });
  });

  test('is asked for paths, too', async () => {
    const path = (path: string, groups: string[], verb = 'get') =>
      status('SubjectAccessReview', { user: 'u', groups, nonResourceAttributes: { path, verb } });
    const known = ['system:authenticated'];
    expect(await path('/apis/apps', known)).toMatchObject({ allowed: true });
    expect(await path('/version', known)).toMatchObject({ allowed: true });
    expect(await path('/version', known, 'post')).toEqual({ allowed: false });
    expect(await path('/metrics', known)).toEqual({ allowed: false });
    expect(await path('/metrics', ['system:masters'])).toMatchObject({ allowed: true });
  });

  test('is asked for a namespace', async () => {
    const local = (namespace: string) =>
      ask(
        'LocalSubjectAccessReview',
        { user: 'u', groups: ['system:masters'], resourceAttributes: list({ namespace }) },
        {},
        `/namespaces/${judged.namespace}`,
      );
    expect(await local(judged.namespace)).toMatchObject({ code: 201, body: { status: { allowed: true } } });
    expect(await local('default')).toMatchObject(
      refused(
        422,
        'Invalid',
        /spec.resourceAttributes.namespace: Invalid value: "default": must match metadata.namespace/,
      ),
    );
  });

  test('is refused for a question that is none', async () => {
    const tries: readonly [JsonObject, RegExp][] = [
      [{ user: 'u' }, /exactly one of nonResourceAttributes or resourceAttributes must be specified/],
      [{ resourceAttributes: list() }, /spec.user: Invalid value: "": at least one of user or group must be specified/],
      [
        { user: 'u', resourceAttributes: list(), nonResourceAttributes: { path: '/', verb: 'get' } },
        /spec.nonResourceAttributes: Invalid value: .*: cannot be specified in combination with resourceAttributes/,
      ],
      [
        { user: 'u', resourceAttributes: list({ fieldSelector: {} }) },
        /fieldSelector.requirements: Required value: when spec.resourceAttributes.fieldSelector is specified, requirements or rawSelector is required/,
      ],
    ];
    for (const [spec, why] of tries) {
      expect(await ask('SubjectAccessReview', spec)).toMatchObject(refused(422, 'Invalid', why));
    }
  });
});

describe('a request as another user', () => {
  const review = { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' };
  const who = (headers: Record<string, string>) =>
    judged.cluster.raw('POST', '/apis/authentication.k8s.io/v1/selfsubjectreviews', { body: review, headers });
  const userOf = (body: JsonObject) => at(body, 'status', 'userInfo');

  test('is one of that user', async () => {
    const groups: Json = [
      'system:serviceaccounts',
      `system:serviceaccounts:${judged.namespace}`,
      'system:authenticated',
    ];
    const name = account('a');
    expect(userOf((await who({ 'impersonate-user': name })).body)).toEqual({ username: name, groups });
    const given = { 'impersonate-user': 'u', 'impersonate-group': 'g', 'impersonate-uid': '7' };
    expect(userOf((await who(given)).body)).toEqual({ username: 'u', uid: '7', groups: ['g', 'system:authenticated'] });
    const headers = { 'impersonate-user': name };
    expect(await judged.cluster.raw('GET', judged.path('pods'), { headers })).toMatchObject(
      refused(403, 'Forbidden', new RegExp(`^pods is forbidden: User "${name}" cannot list resource "pods"`)),
    );
    expect((await who({ 'impersonate-group': 'g' })).code).toBeGreaterThanOrEqual(400);
  });

  test('is refused to users who may not be that one', async () => {
    const user = await judged.clientOf(nodeUser('n'));
    const as = (headers: Record<string, string>) => user.raw('GET', '/api', { headers });
    expect(await as({ 'impersonate-user': 'kubernetes-admin', 'impersonate-group': 'system:masters' })).toMatchObject(
      refused(403, 'Forbidden', /User "system:node:n" cannot impersonate/),
    );
    expect((await as({ 'impersonate-user': account('a') })).code).toBe(403);
  });
});

test('a user learns what it may do', async () => {
  const rules = (headers: Record<string, string> = {}) =>
    status('SelfSubjectRulesReview', { namespace: judged.namespace }, headers);
  const all = await rules();
  expect(all).toMatchObject({ incomplete: false });
  expect(all['resourceRules']).toContainEqual({ verbs: ['*'], apiGroups: ['*'], resources: ['*'] });
  expect(all['nonResourceRules']).toContainEqual({ verbs: ['*'], nonResourceURLs: ['*'] });
  const none = await rules({ 'impersonate-user': account('a') });
  expect(none).toMatchObject({ incomplete: false });
  const kinds = asList(none['resourceRules']).flatMap((rule) => asList(at(rule, 'resources')));
  expect(kinds).toEqual(
    expect.arrayContaining(['selfsubjectaccessreviews', 'selfsubjectrulesreviews', 'selfsubjectreviews']),
  );
  expect(kinds).not.toContain('pods');
  const node = { 'impersonate-user': 'system:node:n', 'impersonate-group': 'system:nodes' };
  expect(await rules(node)).toMatchObject({
    incomplete: true,
    evaluationError: 'node authorizer does not support user rule resolution',
  });
  expect(await ask('SelfSubjectRulesReview', {})).toMatchObject(refused(400, 'BadRequest', /no namespace on request/));
});
