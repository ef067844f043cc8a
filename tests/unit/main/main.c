/* The main of the unit tests that have none of their own. */
#include "tests/unit/test.h"

int main(void)
{
    return test_run();
}
