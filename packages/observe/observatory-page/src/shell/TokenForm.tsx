import { type ReactNode, useState } from 'react';
import { keepToken, tokenIn } from '../api/token.ts';

/** Asks for the token that a copied address does not have, and opens that address with it. */
export function TokenForm(): ReactNode {
  const [pasted, setPasted] = useState('');
  const [wrong, setWrong] = useState(false);
  const open = (): void => {
    const token = tokenIn(pasted);
    setWrong(token === undefined);
    if (token === undefined) return;
    keepToken(token);
    window.location.reload();
  };
  return (
    <form
      className="token-form"
      onSubmit={(event) => {
        event.preventDefault();
        open();
      }}
    >
      <label htmlFor="token">
        A copied address has no token. Paste here what <code>./kubus observatory</code> printed, to see what this
        address shows:
      </label>
      <span className="toolbar">
        <input
          id="token"
          type="text"
          autoComplete="off"
          placeholder="http://127.0.0.1:8470/#token=..."
          value={pasted}
          onChange={({ target }) => setPasted(target.value)}
        />
        <button type="submit" className="primary" disabled={pasted === ''}>
          Open
        </button>
      </span>
      {wrong ? (
        <p className="bad" role="status">
          There is no token in it: it ends in #token= and the token.
        </p>
      ) : null}
    </form>
  );
}
