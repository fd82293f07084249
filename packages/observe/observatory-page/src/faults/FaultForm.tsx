import { type ReactNode, useId, useMemo, useState } from 'react';
import { live, useContract, usePods } from '../api/documents.ts';
import { readContract } from '../contract/contract-types.ts';
import { kinds } from '../messages/message-filter.ts';
import { Field } from './Field.tsx';
import { type FaultDraft, actions, choices, emptyDraft, patternOfType } from './fault-draft.ts';

interface Props {
  readonly busy: boolean;
  /** Id of the list of services that are offered. */
  readonly services: string;
  readonly onInject: (draft: FaultDraft) => void;
}

/** Limit of pods offered by name: browsers cannot handle tens of thousands. */
const offered = 500;

const whichNames: Readonly<Record<FaultDraft['choice'], string>> = {
  all: 'all',
  probability: 'each with a probability',
  every: 'every n-th',
  nth: 'only these',
};

/** The form for a message fault. */
export function FaultForm({ busy, services, onInject }: Props): ReactNode {
  const [draft, setDraft] = useState(emptyDraft);
  const contract = useContract().data;
  const pods = (usePods(live).data ?? []).filter(({ worker }) => worker !== 'finished');
  const id = useId();
  const patterns = useMemo(
    () => [...new Set(readContract(contract).types.map(({ type }) => patternOfType(type)))],
    [contract],
  );
  const text = (name: keyof FaultDraft) => ({
    value: draft[name],
    onChange: ({ target: { value } }: { readonly target: { readonly value: string } }) =>
      setDraft((before) => ({ ...before, [name]: value })),
  });
  const number = (name: keyof FaultDraft, min: number, max: number) => ({
    ...text(name),
    ...{ type: 'number', min, max, step: 'any' },
  });
  return (
    <form
      className="fault-form"
      aria-labelledby={`${id}-title`}
      onSubmit={(event) => {
        event.preventDefault();
        onInject(draft);
      }}
    >
      <h2 id={`${id}-title`}>Inject a fault into messages</h2>
      <div className="fault-fields">
        <Field label="Action">
          <select {...text('action')}>
            {actions.map((action) => (
              <option key={action}>{action}</option>
            ))}
          </select>
        </Field>
        <Field label="Subject" hint="a pattern below kubus.<node>.: * one token, > the rest" wide>
          <input
            {...text('subject')}
            data-filter=""
            required
            list={`${id}-patterns`}
            placeholder="runtime.fact.pod.*"
            spellCheck={false}
          />
        </Field>
        {draft.action === 'delay' ? (
          <>
            <Field label="Delay (ms)">
              <input {...number('by', 0, 60_000)} required />
            </Field>
            <Field label="Jitter (ms)">
              <input {...number('jitter', 0, 60_000)} placeholder="nothing" />
            </Field>
          </>
        ) : null}
        {draft.action === 'duplicate' ? (
          <Field label="Extra copies">
            <input {...number('times', 1, 100)} step={1} required />
          </Field>
        ) : null}
        {draft.action === 'reorder' ? (
          <>
            <Field label="Messages reordered together">
              <input {...number('window', 2, 1000)} step={1} required />
            </Field>
            <Field label="Longest wait (ms)">
              <input {...number('hold', 0.001, 60_000)} placeholder="1000" />
            </Field>
          </>
        ) : null}
        <Field label="Applies to">
          <select {...text('choice')}>
            {choices.map((choice) => (
              <option key={choice} value={choice}>
                {whichNames[choice]}
              </option>
            ))}
          </select>
        </Field>
        {draft.choice === 'probability' ? (
          <Field label="Probability">
            <input {...number('chosen', 0.000_001, 1)} required placeholder="0.1" />
          </Field>
        ) : null}
        {draft.choice === 'every' ? (
          <Field label="n">
            <input {...number('chosen', 1, 1_000_000)} step={1} required placeholder="3" />
          </Field>
        ) : null}
        {draft.choice === 'nth' ? (
          <Field label="Numbers, from 1 on">
            <input
              {...text('chosen')}
              required
              pattern="\s*[1-9]\d*\s*(,\s*[1-9]\d*\s*)*"
              title="numbers from 1 on, with commas between them"
              placeholder="1, 3"
            />
          </Field>
        ) : null}
        <Field label="About pod">
          <select {...text('pod')}>
            <option value="">any or none</option>
            {pods.slice(0, offered).map(({ uid, namespace, name }) => (
              <option key={uid} value={uid}>
                {namespace}/{name}
              </option>
            ))}
          </select>
        </Field>
        <Field label="Published by">
          <input {...text('source')} list={services} placeholder="any service" spellCheck={false} />
        </Field>
        <Field label="Only deliveries to" hint="empty: to every reader and the node’s record">
          <input {...text('reader')} list={services} placeholder="every reader" spellCheck={false} />
        </Field>
        <Field label="Kind">
          <select {...text('kind')}>
            <option value="">any</option>
            {kinds.map((kind) => (
              <option key={kind}>{kind}</option>
            ))}
          </select>
        </Field>
        <Field label="Duration (s)">
          <input {...number('seconds', 0.001, 1_000_000)} placeholder="until ended manually" />
        </Field>
        <button type="submit" className="primary" disabled={busy}>
          Inject
        </button>
      </div>
      <datalist id={`${id}-patterns`}>
        {patterns.map((pattern) => (
          <option key={pattern} value={pattern} />
        ))}
      </datalist>
    </form>
  );
}
