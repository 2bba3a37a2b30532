// What parameters are checked and read with: Bicep has no patterns.

@export()
@description('The parts of a text with commas, without blanks around them and without empty ones.')
func listOf(text string) string[] => filter(map(split(text, ','), one => trim(one)), one => !empty(one))

@export()
@description('Whether a text has no other characters than these.')
func hasOnly(text string, characters string) bool =>
  empty(filter(range(0, length(text)), place => !contains(characters, substring(text, place, 1))))

@export()
@description('Whether a text has letters of English, digits and these other characters alone. An empty one has.')
func isWrittenWith(text string, others string) bool =>
  hasOnly(toLower(text), 'abcdefghijklmnopqrstuvwxyz0123456789${others}')

@export()
@description('Whether a text is an address of IPv4, or a range of them.')
func isRange(text string) bool =>
  length(split(text, '.')) == 4 && length(split(text, '/')) < 3 && empty(filter(
    split(split(text, '/')[0], '.'),
    one => !contains(map(range(0, 256), byte => string(byte)), one)
  )) && contains(map(range(0, 33), bits => string(bits)), split('${text}/32', '/')[1])

@export()
@description('A text as a part of an ID: what has a slash is refused later, with a sentence, and not by a function of Azure.')
func partOfId(text string) string => replace(text, '/', '-')

@export()
@description('Whether a text is the ID of a subnet.')
func isSubnetId(text string) bool =>
  startsWith(text, '/subscriptions/') && contains(text, '/virtualNetworks/') && length(split(text, '/')) == 11

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
