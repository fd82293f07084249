import type { NewServiceFault } from '@kubus/contracts/observatory';
import { type ReactNode, useId, useState } from 'react';
import { Field } from './Field.tsx';
import { serviceFaultOf } from './fault-draft.ts';

interface Props {
  readonly busy: boolean;
  /** Id of the list of services that are offered. */
  readonly services: string;
  readonly onInject: (service: string, fault: NewServiceFault) => void;
}

const deeds: readonly (readonly [NewServiceFault['what'], string])[] = [
  ['pause', 'pause: for a while (SIGSTOP)'],
  ['kill', 'kill: at once (SIGKILL)'],
  ['restart', 'restart: gracefully (SIGTERM)'],
];

/** Pauses, kills or restarts a service. */
export function ServiceFaultForm({ busy, services, onInject }: Props): ReactNode {
  const [service, setService] = useState('');
  const [what, setWhat] = useState<NewServiceFault['what']>('pause');
  const [seconds, setSeconds] = useState('2');
  const id = useId();
  return (
    <form
      className="fault-form"
      aria-labelledby={id}
      onSubmit={(event) => {
        event.preventDefault();
        onInject(service.trim(), serviceFaultOf(what, seconds));
      }}
    >
      <h2 id={id}>Inject a fault into a service</h2>
      <div className="fault-fields">
        <Field label="Action on the service">
          <select value={what} onChange={({ target }) => setWhat(target.value as NewServiceFault['what'])}>
            {deeds.map(([deed, words]) => (
              <option key={deed} value={deed}>
                {words}
              </option>
            ))}
          </select>
        </Field>
        <Field label="Service or instance">
          <input
            value={service}
            required
            list={services}
            placeholder="pod-workers-0"
            spellCheck={false}
            onChange={({ target }) => setService(target.value)}
          />
        </Field>
        {what === 'pause' ? (
          <Field label="Pause for (s)">
            <input
              type="number"
              min={0.001}
              max={600}
              step="any"
              required
              value={seconds}
              onChange={({ target }) => setSeconds(target.value)}
            />
          </Field>
        ) : null}
        <button type="submit" className="primary" disabled={busy}>
          Apply
        </button>
      </div>
    </form>
  );
}
