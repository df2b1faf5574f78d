from enginewright.kernels.compile.includes import Include, quoted_includes


def test_quoted_includes_with_their_lines():
    text = '#include <vector>\n#include "a.cuh"\n\n  #  include   "dir/b.h"  // why\n'
    assert quoted_includes(text) == (Include("a.cuh", 2), Include("dir/b.h", 4))


def test_comments_and_strings_hide_includes():
    text = """\
// #include "line.h"
/* #include "block.h"
#include "inside.h"
*/
const char* text = "/*";
#include "real.h"
const char* more = "*/";
int x = '"';
#include "last.h"
"""
    assert quoted_includes(text) == (Include("real.h", 6), Include("last.h", 9))


def test_a_continued_line_comment_goes_on():
    assert quoted_includes('// comment \\\n#include "no.h"\n#include "yes.h"\n') == (
        Include("yes.h", 3),
    )


def test_an_include_under_a_condition_counts():
    assert quoted_includes('#if 0\n#include "maybe.h"\n#endif\n') == (Include("maybe.h", 2),)


def test_no_includes():
    assert quoted_includes("") == ()
    assert quoted_includes('int include = 3; // include "x.h"\n') == ()
