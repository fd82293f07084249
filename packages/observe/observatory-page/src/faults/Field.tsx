import { type ReactElement, type ReactNode, cloneElement, useId } from 'react';

interface Props {
  readonly label: string;
  /** A hint below the field, which screen readers read with it. */
  readonly hint?: string;
  readonly wide?: boolean;
  readonly children: ReactElement<{ id?: string; 'aria-describedby'?: string }>;
}

/** One field of a form with its label. */
export function Field({ label, hint, wide = false, children }: Props): ReactNode {
  const id = useId();
  return (
    <div className={wide ? 'field field-wide' : 'field'}>
      <label htmlFor={id}>{label}</label>
      {cloneElement(children, { id, ...(hint !== undefined && { 'aria-describedby': `${id}-hint` }) })}
      {hint === undefined ? null : (
        <span id={`${id}-hint`} className="dim">
          {hint}
        </span>
      )}
    </div>
  );
}
