import { type Quantity, formatQuantity, parseQuantity } from '@kubus/contracts';
import { goDurationError, parseGoDuration } from '@kubus/pod';
import { KubusError } from '@kubus/ports';
import { type Observation, type Signal, isSignal } from './signals.ts';

/** Thrown when the value of a setting cannot be used; the message has the reference's words. */
export class ThresholdError extends KubusError {}

/** An amount, or a share of the capacity (0.1 for `10%`, in single precision as in the reference). */
export type ThresholdValue = { readonly quantity: Quantity } | { readonly share: number };

export interface Threshold {
  readonly signal: Signal;
  readonly value: ThresholdValue;
  /** How long the signal has to be below it until pods are evicted, in milliseconds; 0: a hard threshold. */
  readonly graceMs: number;
  /** How far above the threshold the signal has to come before the threshold counts as not met any more. */
  readonly minimumReclaim: ThresholdValue | undefined;
}

/** Fields of KubeletConfiguration: texts by signal. */
export interface ThresholdSettings {
  readonly evictionHard: Readonly<Record<string, string>>;
  readonly evictionSoft: Readonly<Record<string, string>>;
  readonly evictionSoftGracePeriod: Readonly<Record<string, string>>;
  readonly evictionMinimumReclaim: Readonly<Record<string, string>>;
}

const NANO = 1_000_000_000n;

export const isHard = ({ graceMs }: Pick<Threshold, 'graceMs'>): boolean => graceMs === 0;

/**
 * The thresholds of a node, hard ones first (pkg/kubelet/eviction, ParseThresholdConfig).
 *
 * @param options.enforcesPods the memory of all pods together is limited, so that its hard threshold counts within that limit, too
 * @throws ThresholdError
 */
export function parseThresholds(settings: ThresholdSettings, { enforcesPods }: { enforcesPods: boolean }): Threshold[] {
  const hard = thresholdValues(settings.evictionHard);
  const soft = thresholdValues(settings.evictionSoft);
  const gracePeriods = valuesBySignal(settings.evictionSoftGracePeriod, gracePeriod);
  const reclaims = valuesBySignal(settings.evictionMinimumReclaim, minimumReclaim);
  const made = (signal: Signal, value: ThresholdValue, graceMs: number) => ({
    ...{ signal, value, graceMs, minimumReclaim: reclaims.get(signal) },
  });
  const thresholds = [
    ...[...hard].map(([signal, value]) => made(signal, value, 0)),
    ...[...soft].map(([signal, value]) => {
      const graceMs = gracePeriods.get(signal);
      if (graceMs === undefined) {
        throw new ThresholdError(
          'bad-threshold',
          `grace period must be specified for the soft eviction threshold ${signal}`,
        );
      }
      return made(signal, value, graceMs);
    }),
  ];
  const ofPods = thresholds.filter((one) => one.signal === 'memory.available' && isHard(one));
  return enforcesPods
    ? [...thresholds, ...ofPods.map((one): Threshold => ({ ...one, signal: 'allocatableMemory.available' }))]
    : thresholds;
}

/** The amount of a threshold or of a minimum reclaim: a share of this capacity, or independent of it. */
export function amountOf(value: ThresholdValue, { capacity }: Pick<Observation, 'capacity'>): Quantity {
  if ('quantity' in value) return value.quantity;
  return { nano: BigInt(Math.trunc(capacity * value.share)) * NANO, format: 'BinarySI' };
}

/** As it is set. */
export function amountText(value: ThresholdValue): string {
  return 'quantity' in value ? formatQuantity(value.quantity) : `${Number((value.share * 100).toPrecision(6))}%`;
}

/** Whether the signal is below the threshold, or below threshold and minimum reclaim together. */
export function isMet(threshold: Threshold, observed: Observation, enforcesReclaim: boolean): boolean {
  const { value, minimumReclaim: reclaim } = threshold;
  const more = enforcesReclaim && reclaim !== undefined ? amountOf(reclaim, observed).nano : 0n;
  return amountOf(value, observed).nano + more > BigInt(observed.available) * NANO;
}

/** How many bytes more may be used until the first of the thresholds of a signal is met that is not met yet; undefined: none is left. */
export function roomFor(signal: Signal, thresholds: readonly Threshold[], observed: Observation): bigint | undefined {
  const left = thresholds
    .filter((one) => one.signal === signal)
    .map(({ value }) => BigInt(observed.available) - amountOf(value, observed).nano / NANO)
    .filter((bytes) => bytes >= 0n);
  return left.length === 0 ? undefined : left.reduce((least, bytes) => (bytes < least ? bytes : least));
}

/** The same value for thresholds that are the same in the reference's sense; the minimum reclaim is no part of it. */
export function thresholdKey({ signal, value, graceMs }: Threshold): string {
  return `${signal} ${graceMs} ${'quantity' in value ? String(value.quantity.nano) : `${value.share}%`}`;
}

function thresholdValues(texts: Readonly<Record<string, string>>): Map<Signal, ThresholdValue> {
  return valuesBySignal(texts, (signal, text) => {
    if (!text.endsWith('%')) {
      const quantity = quantityOf(text);
      if (quantity.nano > 0n) return { quantity };
      throw new ThresholdError(
        'bad-threshold',
        `eviction threshold ${signal} must be positive: ${formatQuantity(quantity)}`,
      );
    }
    if (text === '0%' || text === '100%') return undefined;
    const share = shareOf(text);
    const bad = (bound: string) =>
      new ThresholdError('bad-threshold', `eviction percentage threshold ${signal} must be ${bound}: ${text}`);
    if (share < 0) throw bad('>= 0%');
    if (share > 1) throw bad('<= 100%');
    return { share };
  });
}

function gracePeriod(_signal: Signal, text: string): number {
  const ms = parseGoDuration(text);
  if (ms === undefined) throw new ThresholdError('bad-threshold', goDurationError(text));
  if (ms >= 0) return ms;
  throw new ThresholdError(
    'bad-threshold',
    `invalid eviction grace period specified: ${text}, must be a positive value`,
  );
}

function minimumReclaim(signal: Signal, text: string): ThresholdValue {
  if (text.endsWith('%')) {
    const share = shareOf(text);
    if (share > 0) return { share };
    throw new ThresholdError(
      'bad-threshold',
      `eviction percentage minimum reclaim ${signal} must be positive: ${text}`,
    );
  }
  const quantity = quantityOf(text);
  if (quantity.nano >= 0n) return { quantity };
  throw new ThresholdError('bad-threshold', `negative eviction minimum reclaim specified for ${signal}`);
}

function valuesBySignal<Value>(
  texts: Readonly<Record<string, string>>,
  parse: (signal: Signal, text: string) => Value | undefined,
): Map<Signal, Value> {
  const values = new Map<Signal, Value>();
  for (const [signal, text] of Object.entries(texts)) {
    if (!isSignal(signal)) throw new ThresholdError('bad-threshold', `unsupported eviction signal ${signal}`);
    const value = parse(signal, text);
    if (value !== undefined) values.set(signal, value);
  }
  return values;
}

function quantityOf(text: string): Quantity {
  const quantity = parseQuantity(text);
  if (quantity !== undefined) return quantity;
  throw new ThresholdError(
    'bad-threshold',
    text === ''
      ? 'quantities must be non-empty'
      : "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
  );
}

function shareOf(text: string): number {
  const digits = text.replace(/%+$/, '');
  const value = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(digits) ? Number(digits) : Number.NaN;
  if (!Number.isNaN(value)) return Math.fround(Math.fround(value) / 100);
  throw new ThresholdError('bad-threshold', `strconv.ParseFloat: parsing ${JSON.stringify(digits)}: invalid syntax`);
}
