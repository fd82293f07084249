// One configuration for the whole workspace. It also holds the roles of packages (docs/architecture.md):
// which role may import which, and what the pure roles may not touch.
import { globSync, readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import reactHooks from 'eslint-plugin-react-hooks';
import tseslint from 'typescript-eslint';

/** What each role may import from the workspace. */
const roles = {
  contract: ['contract'],
  pure: ['contract', 'pure'],
  adapter: ['contract', 'pure', 'adapter'],
  service: ['contract', 'pure', 'adapter'],
  tool: ['contract', 'pure', 'adapter', 'service', 'tool'],
};

const root = import.meta.dirname;
const packages = globSync('{proto,e2e,bench,packages/*,services/*}/package.json', { cwd: root }).map((file) => {
  const manifest = JSON.parse(readFileSync(`${root}/${file}`, 'utf8'));
  const role = manifest.kubus?.role;
  if (!(role in roles)) {
    throw new Error(`${file}: "kubus": {"role": ...} must be one of ${Object.keys(roles).join(', ')}`);
  }
  return { name: manifest.name, dir: dirname(file), role };
});

const roleRules = packages.map(({ name, dir, role }) => {
  const forbidden = packages.filter((other) => other.name !== name && !roles[role].includes(other.role));
  const pure = role === 'pure' || role === 'contract';
  return {
    files: [`${dir}/src/**/*.{ts,tsx}`],
    ignores: ['**/*.test.ts'],
    rules: {
      'no-restricted-imports': [
        'error',
        {
          patterns: [
            ...forbidden.map((other) => ({
              group: [other.name, `${other.name}/*`],
              message: `A package of role "${role}" may not import "${other.role}".`,
            })),
            ...(pure ? [{ group: ['node:*'], message: `A package of role "${role}" does no I/O.` }] : []),
          ],
        },
      ],
      ...(pure && {
        'no-restricted-properties': [
          'error',
          { object: 'Date', property: 'now', message: 'Pass the time in.' },
          { object: 'Math', property: 'random', message: 'Pass random values in.' },
        ],
        'no-restricted-syntax': [
          'error',
          { selector: 'NewExpression[callee.name="Date"][arguments.length=0]', message: 'Pass the time in.' },
        ],
      }),
    },
  };
});

export default tseslint.config(
  { ignores: ['**/dist/**', '**/generated/**', '**/node_modules/**', '.kubus/**'] },
  {
    files: ['**/*.{ts,tsx}'],
    extends: [tseslint.configs.strictTypeChecked],
    languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: root } },
    rules: {
      eqeqeq: 'error',
      '@typescript-eslint/consistent-type-imports': 'error',
      '@typescript-eslint/no-floating-promises': 'error',
      '@typescript-eslint/no-confusing-void-expression': ['error', { ignoreArrowShorthand: true }],
      '@typescript-eslint/restrict-template-expressions': ['error', { allowNumber: true, allowBoolean: true }],
      '@typescript-eslint/no-unused-vars': ['error', { argsIgnorePattern: '^_', varsIgnorePattern: '^_' }],
      // A type parameter that only the body uses is how a generic method table is served.
      '@typescript-eslint/no-unnecessary-type-parameters': 'off',
      'max-lines': ['warn', { max: 400 }],
    },
  },
  {
    files: ['**/*.tsx'],
    plugins: { 'react-hooks': reactHooks },
    rules: { 'react-hooks/rules-of-hooks': 'error', 'react-hooks/exhaustive-deps': 'error' },
  },
  ...roleRules,
);
