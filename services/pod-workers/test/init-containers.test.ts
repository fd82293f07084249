import { beforeEach, describe, expect, test } from '@jest/globals';
import { KubusError } from '@kubus/ports';
import { ScriptedNode, podOf } from './scripted-node.ts';

let node: ScriptedNode;

beforeEach(async () => {
  node = new ScriptedNode();
  await node.start();
});

const of = (name: string, fields: object = {}) => ({ name, image: 'busybox', ...fields });
const sidecar = (name: string, fields: object = {}) => of(name, { restartPolicy: 'Always', ...fields });
const setup = podOf('a', { initContainers: [of('first'), of('second')] });

/** Creates and stops since the last call, by the containers' names. */
function done(): string[] {
  return node.bridge.done.splice(0).filter((what) => !/^(StartContainer|RunPodSandbox)/.test(what));
}

/** The container exits, and the worker syncs. */
async function exit(name: string, code: number): Promise<void> {
  node.bridge.exit('a', name, code);
  await look();
}

let looks = 0;
async function look(pod = current): Promise<void> {
  await node.work(pod, { reason: `look ${++looks}` });
}
let current = setup;

async function run(pod: typeof setup): Promise<void> {
  current = pod;
  await look();
}

describe('init containers', () => {
  test('run one after another, each after the previous one has succeeded, and then the pod’s own', async () => {
    await run(setup);
    expect(done()).toEqual(['CreateContainer first/0']);
    expect(node.status('a')).toMatchObject({
      phase: 'Pending',
      containerStatuses: [{ state: { waiting: { reason: 'PodInitializing' } } }],
    });
    await exit('first', 0);
    expect(done()).toEqual(['CreateContainer second/0']);
    await exit('second', 0);
    expect(done()).toEqual(['CreateContainer main/0']);
    expect(node.status('a')?.phase).toBe('Running');
    expect(node.fields('a', 'Started')).toEqual([
      'spec.initContainers{first}',
      'spec.initContainers{second}',
      'spec.containers{main}',
    ]);
  });

  test('that fail run again', async () => {
    await run(setup);
    done();
    await exit('first', 1);
    expect(done()).toEqual(['CreateContainer first/1']);
    expect(node.status('a')?.initContainerStatuses?.[0]).toMatchObject({ restartCount: 1, ready: false });
  });

  test('that fail permanently end the pod', async () => {
    await run(podOf('a', { restartPolicy: 'Never', initContainers: [of('first')] }));
    done();
    await exit('first', 1);
    expect(node.status('a')?.phase).toBe('Failed');
    expect(node.state('a')?.state).toBe('terminated');
    expect(done().filter((what) => what.startsWith('Create'))).toEqual([]);
  });

  test('that cannot be started delay everything after them', async () => {
    node.bridge.before = (what) =>
      what.startsWith('CreateContainer first')
        ? Promise.reject(new KubusError('Unknown', 'no such device'))
        : Promise.resolve();
    await run(podOf('a', { initContainers: [sidecar('proxy'), of('first'), sidecar('late')] }));
    expect(done()).toEqual(['CreateContainer proxy/0']);
    expect(node.status('a')?.initContainerStatuses?.[1]?.state?.waiting?.reason).toBe('CreateContainerError');
    expect(node.fields('a', 'Failed')).toEqual(['spec.initContainers{first}']);
  });

  test('run again in a new sandbox, with the next attempt', async () => {
    await run(podOf('a', { initContainers: [of('first')] }));
    await exit('first', 0);
    done();
    node.bridge.loseSandbox('a');
    await look();
    expect(done()).toEqual(['StopPodSandbox s1', 'RemoveContainer c2', 'CreateContainer first/1']);
    expect(node.events('a')).toContain('SandboxChanged: Pod sandbox changed, it will be killed and re-created.');
  });

  test('and sidecars run once more after a reboot, all under the next number', async () => {
    await run(podOf('a', { initContainers: [sidecar('proxy'), of('first'), of('second')] }));
    await exit('first', 0);
    await exit('second', 0);
    done();
    for (const name of ['first', 'second']) node.files.indexes.set(name, 0);
    node.bridge.loseSandbox('a');
    await look();
    await exit('first', 0);
    await exit('second', 0);
    expect(done().filter((what) => what.startsWith('CreateContainer'))).toEqual([
      'CreateContainer proxy/1',
      'CreateContainer first/1',
      'CreateContainer second/1',
      'CreateContainer main/1',
    ]);
  });

  test('are not started twice when pod-workers restarts while one runs', async () => {
    await run(setup);
    done();
    node.kill();
    await node.start();
    await look();
    expect(done()).toEqual([]);
    await exit('first', 0);
    expect(done()).toEqual(['CreateContainer second/0']);
  });
});

describe('sidecars', () => {
  test('start before what follows them, and continue to run', async () => {
    await run(podOf('a', { initContainers: [sidecar('proxy'), of('first')] }));
    expect(done()).toEqual(['CreateContainer proxy/0', 'CreateContainer first/0']);
    await exit('first', 0);
    expect(done()).toEqual(['CreateContainer main/0']);
    await exit('proxy', 1);
    expect(done()).toEqual(['CreateContainer proxy/1']);
  });

  test('with a startup probe delay the next container until it succeeds', async () => {
    await run(podOf('a', { initContainers: [sidecar('proxy', { startupProbe: { exec: { command: ['true'] } } })] }));
    expect(done()).toEqual(['CreateContainer proxy/0']);
    await node.probed('a', { c2: { startup: 'success' } });
    expect(done()).toEqual(['CreateContainer main/0']);
    expect(node.status('a')?.initContainerStatuses?.[0]).toMatchObject({ started: true, ready: true });
  });

  test('are stopped with a pod whose work is done', async () => {
    await run(podOf('a', { restartPolicy: 'Never', initContainers: [sidecar('proxy')] }));
    done();
    await exit('main', 0);
    expect(done().slice(0, 2)).toEqual(['StopContainer c2 30', 'StopPodSandbox s1']);
    expect(node.status('a')?.phase).toBe('Succeeded');
  });
});

describe('an ephemeral container', () => {
  const target = { ...of('look'), targetContainerName: 'main' };

  test('starts once, sees its target’s processes, and never restarts', async () => {
    await run(podOf('a'));
    done();
    await run(podOf('a', { ephemeralContainers: [target] }));
    expect(done()).toEqual(['CreateContainer look/0']);
    expect(node.bridge.configs.get('look')?.linux?.securityContext?.namespaceOptions).toMatchObject({
      pid: 'TARGET',
      targetId: 'c2',
    });
    expect(node.fields('a', 'Started')).toEqual(['spec.containers{main}', 'spec.ephemeralContainers{look}']);
    await exit('look', 1);
    expect(done()).toEqual([]);
    expect(node.status('a')).toMatchObject({ phase: 'Running', ephemeralContainerStatuses: [{ restartCount: 0 }] });
  });

  test('with a missing target waits, with the reason in its status', async () => {
    await run(podOf('a', { ephemeralContainers: [{ ...target, targetContainerName: 'nobody' }] }));
    expect(node.status('a')?.ephemeralContainerStatuses?.[0]?.state?.waiting).toEqual({
      reason: 'CreateContainerConfigError',
      message: 'unable to find target container nobody',
    });
  });
});

describe('restarting all containers', () => {
  const again = { action: 'RestartAllContainers', exitCodes: { operator: 'In', values: [42] } };
  const pod = podOf(
    'a',
    { initContainers: [of('first')] },
    {
      restartPolicyRules: [again],
      lifecycle: { preStop: { exec: { command: ['drain'] } } },
    },
  );
  const two = {
    ...pod,
    spec: {
      ...pod.spec,
      containers: [...pod.spec.containers, { ...of('other'), lifecycle: { preStop: { sleep: { seconds: 5 } } } }],
    },
  };

  test('sets its condition, stops without grace, removes the cause last, keeps logs, and restarts at once', async () => {
    await run(two);
    await exit('first', 0);
    done();
    node.files.indexes.set('first', 0).set('main', 0).set('other', 0);
    let restarting: string | undefined;
    node.bridge.before = (what) => {
      if (what.startsWith('StopContainer')) {
        restarting = node.status('a')?.conditions?.find(({ type }) => type === 'AllContainersRestarting')?.status;
      }
      return Promise.resolve();
    };
    await exit('main', 42);
    // c2 is `first`, c3 `main`, c4 `other`.
    expect(done()).toEqual([
      'StopContainer c4 2',
      'RemoveContainer c4',
      'RemoveContainer c2',
      'RemoveContainer c3',
      'CreateContainer first/1',
    ]);
    expect(restarting).toBe('True');
    expect(node.eventLines('a')).toContain('Normal Killing spec.containers{other}: killing');
    expect(node.files.undone).toEqual([]);
    expect(node.status('a')?.containerStatuses).toMatchObject([
      { name: 'main', restartCount: 1, lastState: { terminated: { exitCode: 42 } } },
      { name: 'other', restartCount: 1, lastState: { terminated: { exitCode: 143 } } },
    ]);
    node.files.indexes.set('first', 1);
    await exit('first', 0);
    expect(done()).toEqual(['CreateContainer main/1', 'CreateContainer other/1']);
  });

  test('continues after pod-workers ended in the middle of it', async () => {
    await run(pod);
    await exit('first', 0);
    done();
    node.files.indexes.set('first', 0).set('main', 0);
    const lost = Promise.withResolvers<undefined>();
    node.bridge.before = (what) =>
      what === 'RemoveContainer c3' ? lost.promise.then(() => undefined) : Promise.resolve();
    await exit('main', 42);
    expect(done()).toEqual(['RemoveContainer c2']);
    node.kill();
    node.bridge.before = () => Promise.resolve();
    lost.reject(new KubusError('Unknown', 'connection lost'));
    await node.start();
    await look();
    expect(done()).toEqual(['RemoveContainer c3', 'CreateContainer first/1']);
    expect(node.status('a')?.containerStatuses?.[0]).toMatchObject({
      restartCount: 1,
      lastState: { terminated: { exitCode: 42 } },
    });
  });
});
