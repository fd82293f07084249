import type { NewServiceFault } from '@kubus/observatory-api';
import { type ReactNode, useId, useState } from 'react';
import { Field } from './Field.tsx';
import { serviceFaultOf } from './fault-draft.ts';

interface Props {
  readonly busy: boolean;
  /** Id of the list of services that are offered. */
  readonly services: string;
  readonly onDisturb: (service: string, fault: NewServiceFault) => void;
}

const deeds: readonly (readonly [NewServiceFault['what'], string])[] = [
  ['pause', 'pause: it stands still'],
  ['kill', 'kill: it ends at once'],
  ['restart', 'restart: it ends in order'],
];

/** Pauses, kills or restarts a service. */
export function ServiceFaultForm({ busy, services, onDisturb }: Props): ReactNode {
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
        onDisturb(service.trim(), serviceFaultOf(what, seconds));
      }}
    >
      <h2 id={id}>Disturb a service</h2>
      <div className="fault-fields">
        <Field label="Do to the service">
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
          Do it
        </button>
      </div>
    </form>
  );
}
