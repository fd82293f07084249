// One configuration for the whole workspace. It also defines the roles of packages (docs/architecture.md):
// which role may import which, and what packages without I/O may not touch.
import { globSync, readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import reactHooks from 'eslint-plugin-react-hooks';
import tseslint from 'typescript-eslint';

/** What the packages of each role may import from the workspace. The role is the folder: packages/ROLE/NAME. */
const roles = {
  contract: ['contract'],
  decisions: ['contract', 'decisions'],
  bus: ['contract', 'decisions', 'bus'],
  adapters: ['contract', 'decisions', 'bus', 'adapters'],
  observe: ['contract', 'decisions', 'bus', 'adapters', 'observe'],
  services: ['contract', 'decisions', 'bus', 'adapters', 'observe'],
  tools: ['contract', 'decisions', 'bus', 'adapters', 'observe', 'services', 'tools'],
  testing: ['contract', 'decisions', 'bus', 'adapters', 'observe', 'services', 'tools', 'testing'],
};

/** The role of everything outside packages/. */
const rolesElsewhere = { proto: 'contract', services: 'services', charts: 'tools', e2e: 'testing', bench: 'testing' };

const root = import.meta.dirname;
const manifests = '{proto,e2e,bench,charts/render,packages/*/*,services/*}/package.json';
const packages = globSync(manifests, { cwd: root }).map((file) => {
  const [top, next] = file.split('/');
  const role = top === 'packages' ? next : rolesElsewhere[top];
  if (!(role in roles)) {
    throw new Error(`${file}: a package lies in one of packages/{${Object.keys(roles).join(',')}}`);
  }
  const dir = dirname(file);
  const { name } = JSON.parse(readFileSync(`${root}/${file}`, 'utf8'));
  // Compiled without the types of Node.js: no I/O, no clock. Required for contracts and decisions.
  const pure = /tsconfig\.pure\.json/.test(readFileSync(`${root}/${dir}/tsconfig.json`, 'utf8'));
  if (!pure && role === 'decisions') throw new Error(`${dir}/tsconfig.json has to extend tsconfig.pure.json`);
  return { name, dir, role, pure };
});

/** Functions that have one place in the workspace, which sets their limits. */
const onePlace = [
  {
    name: 'node:http',
    importNames: ['createServer'],
    message: 'httpServer of @kubus/service-kit makes servers: it limits what one client may cost (rule:bounds).',
  },
  {
    name: 'node:https',
    importNames: ['createServer'],
    message: 'httpsServer of @kubus/service-kit makes servers: it limits what one client may cost (rule:bounds).',
  },
];

const roleRules = packages.map(({ name, dir, role, pure }) => {
  const forbidden = packages.filter((other) => other.name !== name && !roles[role].includes(other.role));
  return {
    files: [`${dir}/src/**/*.{ts,tsx}`],
    ignores: ['**/*.test.ts'],
    rules: {
      'no-restricted-imports': [
        'error',
        {
          paths: role === 'testing' ? [] : onePlace,
          patterns: [
            ...forbidden.map((other) => ({
              group: [other.name, `${other.name}/*`],
              message: `A package of role "${role}" may not import "${other.role}".`,
            })),
            ...(pure ? [{ group: ['node:*'], message: `${name} does no I/O.` }] : []),
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
      // A generic method table is served by type parameters that only the body uses.
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
