// The conformance suite imports fs.globSync, which Node 20 has not. What needs it is a command that
// is not used here, so without it the import is satisfied and nothing else.
import * as fs from 'node:fs';
import { register } from 'node:module';

if (!('globSync' in fs)) register('./node20-fs.mjs', import.meta.url);
