import {
  type AttachmentCall,
  type AttachmentRequest,
  CniCode,
  CniError,
  type ConfigFile,
  type Invocation,
  type NetworkConfig,
  type NetworkReadiness,
  type PluginOutput,
  type RuntimeCall,
  answerVersion,
  declaredArgs,
  formatError,
  formatResult,
  jsonObjectSchema,
  knowsStatusAndGc,
  nodeArgs,
  parseInvocation,
  pluginEnv,
  podOf,
  recordKey,
  toCniError,
  versionAnswer,
} from '@kubus/cni-config';
import { SANDBOX_CAUSE } from '@kubus/contracts';
import { ConcurrencyLimit } from '@kubus/flow';
import { Attachments, type Checks, type Removals } from './attachments.ts';
import { NetworkState } from './network-state.ts';
import {
  type AttachmentView,
  type BridgeLimits,
  type Caller,
  type CniBridgeOptions,
  DEFAULT_LIMITS,
} from './options.ts';
import { PluginSteps, networkStep } from './plugin-steps.ts';

/**
 * Sets up pod networks for the container runtime: takes its CNI calls, as the shim forwards them, and runs the real
 * plugin chain on the host. Everything from outside is passed in.
 *
 * At the start call `useFiles` with the configuration folder's files and `recover`, in any order; calls that arrive
 * before both are done wait.
 */
export class CniBridge {
  readonly #options: CniBridgeOptions;
  readonly #limits: BridgeLimits;
  readonly #concurrency: ConcurrencyLimit;
  readonly #steps: PluginSteps;
  readonly #network: NetworkState;
  readonly #attachments: Attachments;
  readonly #recovered = Promise.withResolvers<undefined>();
  readonly #configured = Promise.withResolvers<undefined>();
  #podCidrs: readonly string[] = [];
  #collecting: Promise<unknown> = Promise.resolve();
  /** Problems found by the last check, by attachment key. */
  #problems: ReadonlyMap<string, string> = new Map();

  constructor(options: CniBridgeOptions) {
    const { clock, logger, journal, plugins, events = {} } = options;
    this.#options = options;
    this.#limits = { ...DEFAULT_LIMITS, ...options.limits };
    const { statusMs, collectAfterMs } = this.#limits;
    this.#concurrency = new ConcurrencyLimit(this.#limits.concurrent);
    this.#steps = new PluginSteps({ clock, plugins, limits: this.#limits, ...events });
    this.#network = new NetworkState({ clock, logger, steps: this.#steps, statusMs, ...events });
    this.#attachments = new Attachments({
      clock,
      logger,
      journal,
      steps: this.#steps,
      concurrency: this.#concurrency,
      collectAfterMs,
      ...events,
    });
  }

  /** Whether pods can get a network. */
  get network(): NetworkReadiness {
    return this.#network.readiness;
  }

  /** Every attachment that exists or has a running operation. */
  get attachments(): readonly AttachmentView[] {
    return this.#attachments.list();
  }

  /** Numbers of attachments with a running operation, and of those that wait. */
  get load(): { readonly running: number; readonly waiting: number } {
    return this.#concurrency.load;
  }

  /** Takes the configuration folder's files: at the start, and whenever they change. Existing attachments keep their configuration. */
  useFiles(files: readonly ConfigFile[]): void {
    this.#network.useFiles(files);
    this.#configured.resolve(undefined);
  }

  /**
   * Takes the address ranges of the node's pods (Node `spec.podCIDRs`), for plugins that declare `ipRanges`. Existing
   * attachments keep theirs.
   */
  usePodCidrs(podCidrs: readonly string[]): void {
    this.#podCidrs = podCidrs;
  }

  /**
   * Ends the plugins that the previous process left running, takes over its attachments, and starts to undo every
   * interrupted ADD and to finish every interrupted DEL. Resolves when calls can be served; `removals` when the
   * interrupted ones have been processed. Rejects when the journal cannot be read; no call can be served then.
   */
  async recover(): Promise<{ readonly removals: Promise<Removals> }> {
    const { plugins, logger } = this.#options;
    const strays = await plugins.endStrays();
    const { removals } = await this.#attachments.recover();
    logger.info({ strays, attachments: this.attachments.length }, 'attachments of the previous process taken over');
    this.#network.setRecovered();
    this.#recovered.resolve(undefined);
    return { removals: this.#report(removals) };
  }

  /** Stops all timers; running operations continue. */
  stop(): void {
    this.#network.stop();
  }

  /**
   * Handles a call of the runtime. Never throws: a failure is the output that a plugin would print. `plugins` runs the
   * plugins of this call while the call waits; default: the bridge's own runner.
   */
  async handle(invocation: Invocation, plugins?: Caller['plugins']): Promise<PluginOutput> {
    const caller = { traceparent: invocation.traceparent, plugins };
    try {
      return { exitCode: 0, stdout: await this.#do(invocation, parseInvocation(invocation), caller), stderr: '' };
    } catch (thrown) {
      const error = toCniError(thrown);
      const { command, containerId, ifname, stdin, args } = invocation;
      this.#options.logger.warn(
        { command, containerId, ifname, ...podFields(args), cniCode: error.cniCode, details: error.details },
        `CNI call failed: ${error.message}`,
      );
      return { exitCode: 1, stdout: formatError(error, answerVersion(stdin)), stderr: '' };
    }
  }

  /**
   * Removes the attachments of containers that the runtime no longer has, then runs GC of the network's plugins, if
   * their version has it. `listedAt` is when the runtime's list was read, in milliseconds since the Unix epoch;
   * attachments younger than `collectAfterMs` are left alone. Failed removals are retried by the next call.
   */
  collect(liveContainerIds: ReadonlySet<string>, listedAt: number): Promise<Removals> {
    const run = this.#collecting.then(async () => {
      await this.#recovered.promise;
      const removals = await this.#report(this.#attachments.collect(liveContainerIds, listedAt));
      await this.#collectInPlugins();
      return removals;
    });
    this.#collecting = run.catch(() => undefined);
    return run;
  }

  /**
   * Runs CHECK of every attachment, if the network supports and allows it, and reports problems. Nothing is repaired:
   * the runtime has to create the pod's network again. Each problem is logged once.
   */
  async check(): Promise<Checks> {
    await this.#recovered.promise;
    const checks = await this.#attachments.checkAll();
    const known = this.#problems;
    this.#problems = new Map(checks.failed.map(({ attachment, error }) => [recordKey(attachment), error.message]));
    for (const { attachment, error } of checks.failed) {
      if (known.get(recordKey(attachment)) === error.message) continue;
      const { containerId, ifname } = attachment;
      this.#options.logger.warn(
        { containerId, ifname, ...viewFields(attachment), cniCode: error.cniCode, details: error.details },
        `attachment check failed: ${error.message}`,
      );
    }
    return checks;
  }

  async #do(invocation: Invocation, call: RuntimeCall, caller: Caller): Promise<string> {
    switch (call.command) {
      case 'VERSION':
        return versionAnswer(call.cniVersion);
      case 'STATUS':
        this.#requireReady();
        return '';
      default:
        return this.#doWhenReady(invocation, call, caller);
    }
  }

  /** Runs calls that need the recovered attachments and the configuration. */
  async #doWhenReady(
    invocation: Invocation,
    call: Exclude<RuntimeCall, { command: 'VERSION' | 'STATUS' }>,
    caller: Caller,
  ): Promise<string> {
    await Promise.all([this.#recovered.promise, this.#configured.promise]);
    if (call.command === 'GC') {
      await this.collect(call.validContainerIds, this.#options.clock.now());
      return '';
    }
    if (invocation.name === LOOPBACK) {
      return this.#runLoopback(invocation, call, caller);
    }
    switch (call.command) {
      case 'ADD':
        return this.#add(call, caller);
      case 'DEL':
        await this.#delete(call, caller);
        return '';
      case 'CHECK':
        await this.#attachments.check(call, caller);
        return '';
    }
  }

  #requireReady(): void {
    const { ready, message } = this.network;
    if (!ready) {
      throw new CniError(CniCode.notAvailable, message);
    }
  }

  async #add(call: AttachmentCall, caller: Caller): Promise<string> {
    const { config } = this.#network;
    if (config === undefined) {
      throw new CniError(CniCode.tryAgainLater, 'cni plugin not initialized');
    }
    const request = this.#requestOf(call, config);
    return JSON.stringify(formatResult(await this.#attachments.add(request, caller), call.cniVersion));
  }

  async #delete(call: AttachmentCall, caller: Caller): Promise<void> {
    const { config } = this.#network;
    const unknown = config && { ...this.#requestOf(call, config), result: call.prevResult };
    await this.#attachments.remove(call, unknown, caller);
  }

  #requestOf(
    { containerId, ifname, netns, args, capabilityArgs }: AttachmentCall,
    network: NetworkConfig,
  ): AttachmentRequest {
    const askedAt = this.#options.clock.now();
    const causedBy = causeOfSandbox(capabilityArgs);
    return {
      containerId,
      ifname,
      netns,
      args,
      capabilityArgs: declaredArgs(network, { ...nodeArgs(this.#podCidrs), ...capabilityArgs }),
      network,
      askedAt,
      ...(causedBy !== undefined && { causedBy }),
    };
  }

  /**
   * The loopback network belongs to the runtime, which runs that plugin with its own configuration in addition to the
   * pod's network. It cannot leak anything, so nothing is recorded; without a namespace there is nothing to remove.
   */
  async #runLoopback(
    invocation: Invocation,
    { command, containerId, ifname }: AttachmentCall,
    { traceparent, plugins }: Caller,
  ): Promise<string> {
    const { args, stdin, netns } = invocation;
    if (command === 'DEL' && netns === '') {
      return '';
    }
    const subject = { type: LOOPBACK, command, network: LOOPBACK, containerId, ifname, pod: podOf(args), traceparent };
    const step = { subject, env: pluginEnv(command, invocation), stdin, read: ({ stdout }: PluginOutput) => stdout };
    return this.#concurrency.run(() => this.#steps.run(step, this.#steps.chainDeadline(), plugins));
  }

  /** Runs GC of every plugin, even if another one failed (CNI SPEC.md, "GC"), while no attachment is being made. */
  async #collectInPlugins(): Promise<void> {
    const { config } = this.#network;
    if (config === undefined || config.disableGC || !knowsStatusAndGc(config)) {
      return;
    }
    await this.#concurrency.runAlone(async () => {
      const valid = this.attachments.map(({ containerId, ifname }) => ({ containerId, ifname }));
      const deadline = this.#steps.chainDeadline();
      for (const plugin of config.plugins) {
        try {
          await this.#steps.run(networkStep('GC', config, plugin, valid), deadline);
        } catch (error) {
          this.#options.logger.warn({ type: plugin.type, err: error }, 'GC of a plugin failed');
        }
      }
    });
  }

  async #report(removals: Promise<Removals>): Promise<Removals> {
    const { logger } = this.#options;
    const { removed, failed } = await removals;
    if (removed > 0) {
      logger.info({ removed }, 'unused attachments removed');
    }
    for (const { attachment, error } of failed) {
      const { containerId, ifname } = attachment;
      const fields = { containerId, ifname, cniCode: error.cniCode, details: error.details };
      logger.warn({ ...fields, ...viewFields(attachment) }, `cannot remove an unused attachment: ${error.message}`);
    }
    return { removed, failed };
  }
}

/** The name under which containerd runs the loopback plugin. */
const LOOPBACK = 'loopback';

function podFields(args: string): { pod?: string; podUid?: string } {
  return viewFields({ pod: podOf(args) });
}

function viewFields({ pod }: Pick<AttachmentView, 'pod'>): { pod?: string; podUid?: string } {
  return pod === undefined ? {} : { pod: `${pod.namespace}/${pod.name}`, podUid: pod.uid };
}

/** The pod's annotations as containerd passes them: they name the command that created the sandbox. */
const POD_ANNOTATIONS = 'io.kubernetes.cri.pod-annotations';

function causeOfSandbox(capabilityArgs: AttachmentCall['capabilityArgs']): string | undefined {
  const { data } = jsonObjectSchema.safeParse(capabilityArgs[POD_ANNOTATIONS]);
  const cause = data?.[SANDBOX_CAUSE];
  return typeof cause === 'string' ? cause : undefined;
}
