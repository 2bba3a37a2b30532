// What parameters are checked and read with: Bicep has no patterns.

@export()
@description('The parts of a text with commas, without blanks around them and without empty ones.')
func listOf(text string) string[] => filter(map(split(text, ','), one => trim(one)), one => !empty(one))

@export()
@description('Whether a text has no other characters than these.')
func hasOnly(text string, characters string) bool =>
  empty(filter(range(0, length(text)), place => !contains(characters, substring(text, place, 1))))

@export()
@description('Whether a text is a GUID, as Entra ID writes client IDs.')
func isGuid(text string) bool =>
  length(text) == 36 && length(split(text, '-')) == 5 && hasOnly(toLower(text), '0123456789abcdef-')

@export()
@description('Whether a text is a name of small letters and digits with single hyphens inside, as containers and indexes have.')
func isName(text string) bool =>
  hasOnly(text, 'abcdefghijklmnopqrstuvwxyz0123456789-') && !contains(text, '--') && !startsWith(text, '-') && !endsWith(
    text,
    '-'
  )
